import { expect, it } from "vitest";
import { placeAt, placeOf } from "../../../src/console/pages/chat/use-chat-place.ts";

const begun = placeOf(0, undefined);

it("goes on with a chat that was begun here while the address follows its id", () => {
  const kept = { ...begun, id: "chat_x" };
  expect(placeAt(kept, undefined)).toBe(kept);
  expect(placeAt(kept, "chat_x")).toEqual({ ...kept, address: "chat_x" });
});

it("reads a chat that was begun here from the server when one comes back to it", () => {
  const kept = placeAt({ ...begun, id: "chat_x" }, "chat_x");
  const other = placeAt(kept, "chat_y");
  expect(other).toEqual({ number: 1, address: "chat_y", opened: "chat_y", id: "chat_y" });
  expect(placeAt(other, "chat_x")).toEqual(placeOf(2, "chat_x"));
});

it("begins a new chat where the address names none any more", () => {
  expect(placeAt(placeOf(3, "chat_y"), undefined)).toEqual(placeOf(4, undefined));
});

it("goes on with a chat that was read and is kept under another id", () => {
  const moved = { ...placeOf(0, "chat_x"), id: "chat_z" };
  expect(placeAt(moved, "chat_x")).toBe(moved);
  expect(placeAt(moved, "chat_z")).toMatchObject({ number: 0, opened: "chat_x" });
});
