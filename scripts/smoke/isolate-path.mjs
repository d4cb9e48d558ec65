import { accessSync, constants, mkdirSync, readdirSync, realpathSync, symlinkSync } from "node:fs";
import { join } from "node:path";

// What a machine with only the one runtime does not have.
const absent = { node: /^bunx?$/, bun: /^(node|nodejs|npm|npx|corepack|yarn|pnpm|tsx)$/ };

/** Makes a folder with every program of PATH but the other runtime's; returns it, to be a PATH of its own. */
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
