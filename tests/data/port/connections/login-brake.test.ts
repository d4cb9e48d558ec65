import { expect, test } from "vitest";
import { LoginBrake } from "../../../../src/data/port/connections/login-brake.ts";
import type { Admission } from "../../../../src/data/principal.ts";
import { principal, SetClock } from "./port-stage.ts";

const wrong: Admission = { refusal: { code: "28P01", message: "The key is not known." } };
const right: Admission = { principal: principal("bik_one"), login: null };
const { signal } = new AbortController();

function createBrake() {
  const clock = new SetClock();
  const brake = new LoginBrake(clock);
  let checks = 0;
  const attempt = (network: string, answer: Admission | Promise<Admission>) =>
    brake.attempt(
      network,
      async () => {
        checks += 1;
        return answer;
      },
      signal,
    );
  const failFully = async (network: string): Promise<void> => {
    for (let count = 0; count < 5; count += 1) await attempt(network, wrong);
  };
  return { clock, brake, attempt, failFully, checks: () => checks };
}

test("a network with five wrong keys waits until a minute after the first, and others do not", async () => {
  const { clock, attempt } = createBrake();
  await attempt("10.0.0.1", wrong);
  clock.move(30_000);
  for (let count = 0; count < 4; count += 1) await attempt("10.0.0.1", wrong);
  await expect(attempt("10.0.0.1", right)).rejects.toThrow("30 seconds");
  expect(await attempt("10.0.0.2", right)).toBe(right);
  clock.move(30_000);
  expect(await attempt("10.0.0.1", right)).toBe(right);
});

test("right keys at once all get in, five at a time", async () => {
  const { attempt, checks } = createBrake();
  const answer = deferred();
  const all = Array.from({ length: 50 }, () => attempt("10.0.0.1", answer.promise));
  await Promise.resolve();
  expect(checks()).toBe(5);
  answer.resolve(right);
  expect(await Promise.all(all)).toEqual(all.map(() => right));
});

test("what the server cannot answer, or refuses for another reason, is no wrong key", async () => {
  const { attempt } = createBrake();
  const expired: Admission = { refusal: { code: "28000", message: "The license is over." } };
  for (let count = 0; count < 10; count += 1) {
    await attempt("10.0.0.1", expired);
    await expect(attempt("10.0.0.1", Promise.reject(new Error("gone")))).rejects.toThrow("gone");
  }
  expect(await attempt("10.0.0.1", right)).toBe(right);
});

test("an attempt whose client has left while it waited does not ask, and lets the next one go on", async () => {
  const { brake, attempt, checks } = createBrake();
  const answer = deferred();
  const first = Array.from({ length: 5 }, () => attempt("10.0.0.1", answer.promise));
  const left = new AbortController();
  const waiting = brake.attempt("10.0.0.1", async () => right, left.signal);
  const next = attempt("10.0.0.1", right);
  left.abort(new Error("left"));
  answer.resolve(right);
  await expect(waiting).rejects.toThrow("left");
  expect(await Promise.all([...first, next])).toHaveLength(6);
  expect(checks()).toBe(6);
});

test("a flood of other networks does not free one that waits", async () => {
  const { attempt, failFully } = createBrake();
  await failFully("10.0.0.1");
  for (let count = 0; count < 12_000; count += 1) await attempt(`flood-${count}`, wrong);
  await expect(attempt("10.0.0.1", right)).rejects.toThrow("wrong key");
});

function deferred() {
  let resolve: (admission: Admission) => void = () => undefined;
  const promise = new Promise<Admission>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
