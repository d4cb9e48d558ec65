import type {
  AssistantPart,
  DocumentPart,
  ImagePart,
  MediaSource,
  TextPart,
  UserPart,
} from "../../core/chat/chat-request.ts";
import { openSeal } from "../../core/chat/seal.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { AssistantTurn, CallResult, Turn, UserTurn } from "../shared/alternate-turns.ts";
import { objectText } from "../shared/object-text.ts";

/** The vendor's own value for a call that it did not seal: it skips the check of the seal. */
const NO_SEAL = "skip_thought_signature_validator";

const NO_RESULT = "There is no result: the call was broken off.";

/** Media types by file extension. The vendor requires the type of a file that it fetches itself. */
const MEDIA_TYPES: ReadonlyMap<string | undefined, string> = new Map([
  ["gif", "image/gif"],
  ["jpeg", "image/jpeg"],
  ["jpg", "image/jpeg"],
  ["pdf", "application/pdf"],
  ["png", "image/png"],
  ["webp", "image/webp"],
]);

/** Returns the turns as JSON texts. Arguments of calls keep their exact characters. */
export function buildContents(turns: readonly Turn[], needsSeals: boolean): string[] {
  return turns.map((turn) =>
    turn.role === "user"
      ? contentText("user", buildUserParts(turn))
      : contentText("model", buildModelParts(turn, needsSeals)),
  );
}

export function buildText({ text }: Pick<TextPart, "text">): JsonObject {
  return { text };
}

function contentText(role: "user" | "model", parts: readonly string[]): string {
  return `{"role":"${role}","parts":[${parts.join(",")}]}`;
}

/**
 * Builds a user turn. The results come first, in the order of their calls; they cannot hold images, which follow them.
 */
function buildUserParts({ results, content }: UserTurn): string[] {
  const media = results.flatMap(({ message }) => message?.content.filter(isMedia) ?? []);
  const parts = [...results.map(buildResult), ...media.map(buildPart), ...content.map(buildPart)];
  return parts.map((part) => JSON.stringify(part));
}

function buildResult({ call, message }: CallResult): JsonObject {
  const texts = message?.content.filter((part) => part.type === "text") ?? [];
  const text = message === undefined ? NO_RESULT : texts.map((part) => part.text).join("\n");
  const isError = message === undefined || message.isError === true;
  return {
    functionResponse: {
      id: call.callId,
      name: call.name,
      response: isError ? { error: text } : { result: text },
    },
  };
}

/** Builds a model turn. The vendor checks only the seal of the first call in a turn: parallel calls share one. */
function buildModelParts({ content }: AssistantTurn, needsSeals: boolean): string[] {
  const firstCall = content.find((part) => part.type === "tool-call");
  return content.flatMap((part) => buildModelPart(part, needsSeals && part === firstCall));
}

function buildModelPart(part: AssistantPart, needsSeal: boolean): string | readonly string[] {
  switch (part.type) {
    case "text": {
      const thoughtSignature = openSeal("gemini", part.signature);
      return JSON.stringify({ ...buildText(part), thoughtSignature });
    }
    case "refusal":
      return JSON.stringify(buildText(part));
    case "reasoning":
      return [];
    case "tool-call": {
      const seal = openSeal("gemini", part.signature) ?? (needsSeal ? NO_SEAL : undefined);
      const call = JSON.stringify({ id: part.callId, name: part.name }).slice(0, -1);
      const sealText = seal === undefined ? "" : `,"thoughtSignature":${JSON.stringify(seal)}`;
      return `{"functionCall":${call},"args":${objectText(part.arguments)}}${sealText}}`;
    }
  }
}

function buildPart(part: UserPart): JsonObject {
  switch (part.type) {
    case "text":
      return buildText(part);
    case "image":
    case "document":
      return buildMedia(part.source);
    case "audio":
      return { inlineData: { mimeType: `audio/${part.format}`, data: part.data } };
  }
}

function buildMedia(source: MediaSource): JsonObject {
  if (source.kind === "base64") {
    return { inlineData: { mimeType: source.mediaType, data: source.data } };
  }
  const { url } = source;
  const ending = /\.([a-z]+)(?:[?#]|$)/i.exec(url)?.[1]?.toLowerCase();
  return { fileData: { fileUri: url, mimeType: MEDIA_TYPES.get(ending) } };
}

function isMedia(part: UserPart): part is ImagePart | DocumentPart {
  return part.type === "image" || part.type === "document";
}
