// @ts-check
// The thread that holds vectors and words of vector stores and searches them, so that no search stops a stream.
// Plain JavaScript: on Node a thread would first have to load the TypeScript loader.
import { parentPort } from "node:worker_threads";
import { StoreMemory } from "./store-memory.mjs";

/** @typedef {import("./memory-thread.ts").Request} Request */

/** @type {Map<string, StoreMemory>} */
const stores = new Map();

/** @param {string} name */
function storeOf(name) {
  const store = stores.get(name);
  if (store === undefined) throw new Error(`the store ${name} is not in memory`);
  return store;
}

/**
 * @param {Request} request
 * @returns {unknown}
 */
function answer(request) {
  switch (request.kind) {
    case "create":
      stores.set(request.store, new StoreMemory(request.dimensions));
      return undefined;
    case "add":
      return storeOf(request.store).add(request.chunks);
    case "remove":
      return storeOf(request.store).removeFiles(request.files);
    case "discard":
      stores.delete(request.store);
      return undefined;
    case "count":
      return storeOf(request.store).countWords(request.words);
    case "search":
      return storeOf(request.store).search(request.wanted);
  }
}

parentPort?.on("message", (/** @type {{ id: number, request: Request }} */ { id, request }) => {
  try {
    parentPort?.postMessage({ id, result: answer(request) });
  } catch (thrown) {
    parentPort?.postMessage({ id, failure: thrown instanceof Error ? thrown.message : "failed" });
  }
});
