import {
  MutationObserver,
  onlineManager,
  type QueryClient,
  QueryObserver,
} from "@tanstack/react-query";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "../../../src/console/api/errors.ts";
import { createQueryClient } from "../../../src/console/app/query-client.ts";

/** All tries of a call have failed by then. */
const TRIES_MS = 4_000;
const PAUSE_MS = 5_000;

describe("A call that the gateway did not answer", () => {
  let client: QueryClient;
  let isAway: boolean;
  const ends: (() => void)[] = [];

  beforeEach(() => {
    vi.useFakeTimers();
    client = createQueryClient();
    isAway = true;
  });
  afterEach(() => {
    for (const end of ends.splice(0)) end();
    vi.useRealTimers();
  });

  const show = (name: string, status = 0) => {
    const load = vi.fn(async () => {
      if (isAway) throw failure(status);
      return name;
    });
    const observer = new QueryObserver(client, { queryKey: [name], queryFn: load });
    ends.push(observer.subscribe(() => undefined));
    return { load, state: () => observer.getCurrentResult() };
  };
  const answerOther = () => client.fetchQuery({ queryKey: ["other"], queryFn: () => 1 });

  it("is made again once, for each that is shown, when another is answered", async () => {
    // The last one asked while the gateway started again.
    const lists = [show("keys"), show("users"), show("chats", 503)];
    await vi.advanceTimersByTimeAsync(TRIES_MS + PAUSE_MS);
    expect(lists.map(({ state }) => state().status)).toEqual(["error", "error", "error"]);
    for (const { load } of lists) load.mockClear();

    isAway = false;
    await answerOther();
    await vi.advanceTimersByTimeAsync(TRIES_MS);
    expect(lists.map(({ state }) => state().data)).toEqual(["keys", "users", "chats"]);
    expect(lists.map(({ load }) => load.mock.calls.length)).toEqual([1, 1, 1]);
  });

  it("is not made again with each answer of others while it fails alone", async () => {
    const list = show("keys");
    await vi.advanceTimersByTimeAsync(TRIES_MS + PAUSE_MS);
    list.load.mockClear();
    await answerOther();
    await vi.advanceTimersByTimeAsync(TRIES_MS);
    expect(list.state().fetchStatus).toBe("idle");
    const calls = list.load.mock.calls.length;
    expect(calls).toBeGreaterThan(0);
    for (let count = 0; count < 10; count += 1) {
      await client.invalidateQueries({ queryKey: ["other"] });
      await answerOther();
    }
    expect(list.load).toHaveBeenCalledTimes(calls);
  });

  it("stays as it is where it was refused, or is not shown any more", async () => {
    const refused = show("refused", 403);
    const left = show("left");
    await vi.advanceTimersByTimeAsync(TRIES_MS + PAUSE_MS);
    ends.at(-1)?.();
    for (const { load } of [refused, left]) load.mockClear();
    isAway = false;
    await answerOther();
    await vi.advanceTimersByTimeAsync(TRIES_MS);
    expect(refused.load).not.toHaveBeenCalled();
    expect(left.load).not.toHaveBeenCalled();
  });
});

describe("Without a network, as the browser says", () => {
  const client = createQueryClient();

  beforeEach(() => {
    client.mount();
    onlineManager.setOnline(false);
  });
  afterEach(() => {
    onlineManager.setOnline(true);
    client.unmount();
  });

  it("calls are made, because the gateway may run on the same machine", async () => {
    await expect(client.fetchQuery({ queryKey: ["keys"], queryFn: () => 1 })).resolves.toBe(1);
  });

  it("a change fails at once, and is not made by itself later", async () => {
    const send = vi.fn(() => Promise.reject(failure(0)));
    const change = new MutationObserver(client, { mutationFn: send });
    await expect(change.mutate()).rejects.toThrow("It failed.");
    onlineManager.setOnline(true);
    await client.resumePausedMutations();
    expect(send).toHaveBeenCalledTimes(1);
  });

  it("what is shown is asked for again when the network is back", async () => {
    let asked = 0;
    const load = async () => ++asked;
    const observer = new QueryObserver(client, { queryKey: ["x"], queryFn: load, staleTime: 0 });
    const end = observer.subscribe(() => undefined);
    await expect.poll(() => observer.getCurrentResult().data).toBe(1);
    onlineManager.setOnline(true);
    await expect.poll(() => observer.getCurrentResult().data).toBe(2);
    end();
  });
});

function failure(status: number): ApiError {
  const nothing = { param: null, requestId: null, retryAfterSeconds: null };
  return new ApiError("It failed.", { status, code: "failed", ...nothing });
}
