import { describe, expect, it } from "vitest";
import { RememberingRouter } from "../../../../src/http/request/routes/remembering-router.ts";

describe("A router that remembers", () => {
  it("finds the same again, by method and path, with parameters or without", () => {
    const router = new RememberingRouter<string>();
    router.add("GET", "/keys/:id", "one key");
    router.add("GET", "/keys/mine", "mine");
    router.add("POST", "/keys", "make");
    const found = (method: string, path: string) =>
      router.match(method, path)[0].map(([handler]) => handler);
    for (let round = 0; round < 3; round += 1) {
      expect(found("GET", "/keys/mine")).toEqual(["one key", "mine"]);
      expect(found("GET", "/keys/yours")).toEqual(["one key"]);
      expect(found("POST", "/keys")).toEqual(["make"]);
      expect(found("GET", "/keys")).toEqual([]);
    }
    router.add("POST", "/keys", "make again");
    expect(found("POST", "/keys")).toEqual(["make", "make again"]);
  });
});
