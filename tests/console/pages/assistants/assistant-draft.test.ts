import { expect, it } from "vitest";
import type { Assistant } from "../../../../src/console/api/queries/assistants.ts";
import {
  changesOf,
  draftFault,
  NEW_ASSISTANT,
  toDraft,
} from "../../../../src/console/pages/assistants/assistant-draft.ts";

const withMetadata = (metadata: Record<string, string>) =>
  toDraft({
    ...{ name: "a", response_format: "auto", tool_resources: {}, metadata },
    ext: { tools: [] },
  } as unknown as Assistant);
const sent = (metadata: string) =>
  changesOf({ ...NEW_ASSISTANT, metadata }, NEW_ASSISTANT).metadata;

it("shows metadata as pairs of words, and sends the same", () => {
  const metadata = {
    team: "support",
    address: "https://a.example:8080/",
    "dc:title": "one",
    note: "two\nlines",
    quoted: '"yes"',
    padded: " a ",
    number: "7",
    empty: "",
    '"odd" name': "b",
    "two\nlines": "x\u2028y",
  };
  const draft = withMetadata(metadata);
  expect(draftFault(draft)).toBeUndefined();
  expect(draft.metadata.split("\n").slice(0, 4)).toEqual([
    ...["team: support", "address: https://a.example:8080/", '"dc:title": one'],
    'note: "two\\nlines"',
  ]);
  expect(sent(draft.metadata)).toEqual(metadata);
});

it("takes pairs as people type them, and names a line that is none", () => {
  expect(sent('team:support\n\n a : b: c \n"half: d')).toEqual({
    ...{ team: "support", a: "b: c" },
    '"half': "d",
  });
  const fault = draftFault({ ...NEW_ASSISTANT, metadata: "team: support\nno pair" });
  expect(fault).toBe("The metadata has a line without a colon: no pair");
});
