import { readdirSync, watch } from "node:fs";
import { join } from "node:path";

const SETTLE_MS = 150;

/**
 * Calls `onChange` once after each burst of changes under a folder. Uses one watch per folder, because the recursive
 * watch of Node 20 loses files that an editor replaces. The folders `except` are left out with all that is in them.
 */
export function watchFolder(root, onChange, except = []) {
  const watched = new Map();
  let timer;

  const isLeftOut = (path) => except.some((one) => path === one || path.startsWith(`${one}/`));
  const add = (folder) => {
    if (watched.has(folder) || isLeftOut(folder)) return;
    const watcher = watch(folder, (_kind, name) => {
      if (name?.endsWith("~") || name?.startsWith(".") || isLeftOut(join(folder, name ?? "")))
        return;
      clearTimeout(timer);
      timer = setTimeout(settle, SETTLE_MS);
    });
    watcher.on("error", () => {
      watcher.close();
      watched.delete(folder);
    });
    watched.set(folder, watcher);
  };
  const addAll = () => {
    for (const entry of readdirSync(root, { withFileTypes: true, recursive: true })) {
      if (entry.isDirectory()) add(join(entry.parentPath ?? entry.path, entry.name));
    }
  };
  const settle = () => {
    addAll();
    onChange();
  };
  add(root);
  addAll();
}
