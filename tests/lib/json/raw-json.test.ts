import { describe, expect, it } from "vitest";
import { rawElements, rawMember } from "../../../src/lib/json/raw-json.ts";

describe("rawMember", () => {
  it.each<[object: string, name: string, value: string | undefined]>([
    ['{"a":1}', "a", "1"],
    ['{"a":1}', "b", undefined],
    ["{}", "a", undefined],
    [' { "a" : 12345678901234567890 , "b":2}', "a", "12345678901234567890"],
    ['{"a":{"a":1},"b":[{"b":0}]}', "b", '[{"b":0}]'],
    ['{"x":"{\\"a\\":1}","a":"\\\\","b":3}', "a", '"\\\\"'],
    ['{"x":"\\\\\\"}]","a":true\n}', "a", "true"],
    ['{"\\u0061":null}', "a", "null"],
    ['{"a":1,"a":[ ]}', "a", "[ ]"],
    ['{"":-1.5E+3}', "", "-1.5E+3"],
  ])("of %s, %j", (object, name, value) => {
    expect(rawMember(object, name)).toBe(value);
  });
});

describe("rawElements", () => {
  it.each([
    ["[]", []],
    [" [ ] ", []],
    ['[1, "a,]" ,{"b":[2 , 3]},[[]]\t]', ["1", '"a,]"', '{"b":[2 , 3]}', "[[]]"]],
  ])("of %s", (array, elements) => {
    expect(rawElements(array)).toEqual(elements);
  });

  it("takes any depth", () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    expect(rawElements(`[${deep},1]`)).toEqual([deep, "1"]);
  });
});
