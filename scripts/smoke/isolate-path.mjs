import { accessSync, constants, mkdirSync, readdirSync, realpathSync, symlinkSync } from "node:fs";
import { join } from "node:path";

// Programs that a machine with only this runtime does not have.
const absent = { node: /^bunx?$/, bun: /^(node|nodejs|npm|npx|corepack|yarn|pnpm|tsx)$/ };

/** Creates a folder with every program of PATH except the other runtime's; returns it for use as PATH. */
export function isolatePath(folder, runtime) {
  mkdirSync(folder);
  const taken = new Set();
  for (const source of process.env.PATH.split(":")) {
    for (const name of list(source)) {
      const target = join(source, name);
      if (taken.has(name) || absent[runtime].test(name) || !isProgram(target)) continue;
      taken.add(name);
      symlinkSync(realpathSync(target), join(folder, name));
    }
  }
  return folder;
}

function list(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
