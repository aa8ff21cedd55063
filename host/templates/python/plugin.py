"""The plugin {{name}}: one method for each function of the world in wit/world.wit."""

import os

import wit_world
from componentize_py_types import Err
from wit_world import Counted


class WitWorld(wit_world.WitWorld):
    def {{tool}}(self, path: str) -> Counted:
        try:
            with open(os.path.join("/workspace", path), encoding="utf-8", errors="replace", newline="") as file:
                text = file.read()
        except (OSError, ValueError) as error:
            # What is raised as Err is the error that the agent reads.
            raise Err(f"'{path}' cannot be read: {error}.")
        return Counted(len(text.splitlines()), len(text.split()), len(text))
