// Makes a component of src/plugin.js: the script, its engine, and the interface in wit/.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { componentize } from "@bytecodealliance/componentize-js";

const { component } = await componentize(await readFile("src/plugin.js", "utf8"), {
  witPath: resolve("wit"),
  worldName: "plugin",
  // What is not in the component needs no permission.
  disableFeatures: ["http", "fetch-event", "random", "clocks", "stdio"],
});
await mkdir("dist", { recursive: true });
await writeFile("dist/{{name}}.wasm", component);
