// The plugin {{name}}: one exported function for each function of the world in wit/world.wit.
import { getDirectories } from "wasi:filesystem/preopens@0.2.0";

export function {{camel}}(path) {
  const text = readText(path);
  const lines = text.split("\n");
  return {
    lines: lines.at(-1) === "" ? lines.length - 1 : lines.length,
    words: text.split(/\s+/).filter(Boolean).length,
    characters: [...text].length,
  };
}

// What is thrown is the error that the agent reads.
function readText(path) {
  const [workspace] = getDirectories()[0] ?? [];
  if (!workspace) throw "There is no workspace.";
  const decoder = new TextDecoder();
  let file, text = "";
  try {
    file = workspace.openAt({ symlinkFollow: true }, path, {}, { read: true });
    for (let offset = 0n; ; ) {
      const [bytes, end] = file.read(65536n, offset);
      offset += BigInt(bytes.length);
      text += decoder.decode(bytes, { stream: true });
      if (end || bytes.length === 0) return text + decoder.decode();
    }
  } catch (error) {
    throw `'${path}' cannot be read: ${error.payload ?? error}.`;
  }
}
