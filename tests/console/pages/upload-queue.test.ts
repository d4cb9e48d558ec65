import { expect, it } from "vitest";
import {
  type Sending,
  type Upload,
  UploadQueue,
} from "../../../src/console/pages/knowledge/upload-queue.ts";

/** A server whose answers the test gives, one upload at a time. */
function stage() {
  const under = new Map<
    string,
    { readonly sending: Sending; readonly end: (fault?: Error) => void }
  >();
  let most = 0;
  const queue = new UploadQueue((upload, sending) => {
    const ended = new Promise<void>((resolve, reject) => {
      const end = (fault?: Error) => {
        under.delete(upload.file.name);
        return fault === undefined ? resolve() : reject(fault);
      };
      under.set(upload.file.name, { sending, end });
      sending.signal.addEventListener("abort", () => end(new Error("stopped")));
    });
    most = Math.max(most, under.size);
    return ended;
  });
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return { queue, under, most: () => most, settle };
}

const files = (count: number) =>
  Array.from({ length: count }, (_, index) => new File([`text ${index}`], `file-${index}.txt`));
const count = (uploads: readonly Upload[], state: Upload["state"]) =>
  uploads.filter((upload) => upload.state === state).length;

it("sends 500 files, three at a time, and those that fail hold up no other", async () => {
  const { queue, under, most, settle } = stage();
  queue.add(files(500), undefined);
  expect(count(queue.list(), "waiting")).toBe(497);
  while (under.size > 0) {
    for (const [name, { end }] of [...under])
      end(name.endsWith("7.txt") ? new Error("no") : undefined);
    await settle();
  }
  expect(most()).toBe(3);
  expect(count(queue.list(), "added")).toBe(450);
  const failed = queue.list().filter(({ state }) => state === "failed");
  expect(failed).toHaveLength(50);
  expect(failed[0]).toMatchObject({ error: new Error("no"), file: { name: "file-7.txt" } });
  expect(queue.isBusy()).toBe(false);
});

it("tells how far each is, and tries one again", async () => {
  const { queue, under, settle } = stage();
  let told = 0;
  queue.subscribe(() => {
    told += 1;
  });
  queue.add(files(1), undefined);
  under.get("file-0.txt")?.sending.onProgress(3);
  expect(queue.list()[0]).toMatchObject({ state: "sending", sent: 3 });
  under.get("file-0.txt")?.sending.onAdding();
  expect(queue.list()[0]).toMatchObject({ state: "adding", sent: 6 });
  under.get("file-0.txt")?.end(new Error("cut"));
  await settle();
  queue.retry(queue.list()[0]?.id ?? 0);
  expect(queue.list()[0]).toMatchObject({ state: "sending", sent: 0, error: undefined });
  under.get("file-0.txt")?.end();
  await settle();
  expect(queue.list()[0]).toMatchObject({ state: "added" });
  expect(told).toBeGreaterThan(5);
  queue.clear();
  expect(queue.list()).toEqual([]);
});

it("stops one that is under way, and all of them", async () => {
  const { queue, under, settle } = stage();
  queue.add(files(6), undefined);
  const [first] = queue.list();
  queue.remove(first?.id ?? 0);
  await settle();
  expect([...under.keys()]).toEqual(["file-1.txt", "file-2.txt", "file-3.txt"]);
  queue.stop();
  await settle();
  expect(under.size).toBe(0);
  expect(queue.list()).toEqual([]);
});

it("clears up after what is taken off the list and is not in the store", async () => {
  const forgotten: string[] = [];
  const queue = new UploadQueue(
    async ({ file }, { onAdding }) => {
      if (file.name === "file-1.txt") throw new Error("no");
      onAdding();
      if (file.name === "file-2.txt") await new Promise(() => undefined);
    },
    ({ file }) => forgotten.push(file.name),
  );
  queue.add(files(3), undefined);
  await new Promise((resolve) => setImmediate(resolve));
  expect(queue.list().map(({ state }) => state)).toEqual(["added", "failed", "adding"]);
  queue.clear();
  queue.stop();
  expect(queue.list()).toEqual([]);
  expect(forgotten).toEqual(["file-1.txt"]);
});
