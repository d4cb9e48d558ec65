import { Zap } from "lucide-react";
import { describe, expect, it } from "vitest";
import { findActions, findById, findPages } from "../../../src/console/app/palette-items.ts";

describe("the palette", () => {
  it("leads to what an id names, where this session may see it", () => {
    const [request] = findById(" req_mwuslhoom47pzUkS0000l ", "user");
    expect(request).toMatchObject({ to: "/requests/req_mwuslhoom47pzUkS0000l" });
    expect(findById("usr_1", "admin")).toMatchObject([{ to: "/users/usr_1" }]);
    expect(findById("usr_1", "user")).toEqual([]);
    expect(findById("req_a/../../b", "user")).toMatchObject([
      { to: "/requests/req_a%2F..%2F..%2Fb" },
    ]);
  });

  it.each(["req_", "req", "abc_1", "constructor_1", "req_two words"])(
    "takes '%s' for no id",
    (typed) => expect(findById(typed, "admin")).toEqual([]),
  );

  it("lists the pages of the role, the best first", () => {
    const titles = (typed: string, role: "admin" | "user") =>
      findPages(typed, role).map(({ title }) => title);
    expect(titles("us", "admin").slice(0, 2)).toEqual(["Users", "Usage"]);
    expect(titles("us", "user")).not.toContain("Users");
    expect(titles("", "user")).not.toContain("Sign in");
  });

  it("does what a key does now, but not what moves about", () => {
    const ran: string[] = [];
    const bindings = ["n", "j", "g k", "mod+k"].map((keys) => {
      return { keys, label: `does ${keys}`, run: () => void ran.push(keys) };
    });
    expect(findActions("", bindings, Zap).map(({ title }) => title)).toEqual(["does n"]);
  });
});
