import { type Json, objectOf, objectsOf, stringOf } from "../json.ts";
import { openSeal } from "../seals.ts";
import { badPayload, invalid } from "./gemini-error.ts";
import type { GeminiTraits } from "./gemini-models.ts";

/** Placeholders for the signature of a call that was made elsewhere. */
const DUMMY_SIGNATURES = [
  "skip_thought_signature_validator",
  "context_engineering_is_the_way_to_go",
];
const DATA_FIELDS = [
  "text",
  "inlineData",
  "fileData",
  "functionCall",
  "functionResponse",
  "executableCode",
  "codeExecutionResult",
  "toolCall",
  "toolResponse",
];
const MEDIA_TYPES =
  /^(image\/(png|jpeg|webp|heic|heif|gif)|application\/pdf|text\/|audio\/|video\/)/;

/** Throws Google's error for an invalid conversation. */
export function checkContents(value: unknown, traits: GeminiTraits): void {
  const contents = objectsOf(value);
  if (contents.length === 0) {
    throw invalid("* GenerateContentRequest.contents: contents is not specified\n");
  }
  contents.forEach((content, index) => {
    checkContent(content, `contents[${index}]`);
  });
  checkTurns(contents);
  if (traits.needsSignature) checkSignatures(contents);
}

function checkContent(content: Json, at: string): void {
  const role = content["role"];
  if (role !== undefined && role !== "user" && role !== "model") {
    throw invalid("Please use a valid role: user, model.");
  }
  const parts = objectsOf(content["parts"]);
  if (parts.length === 0) {
    throw invalid(`* GenerateContentRequest.${at}.parts: contents.parts must not be empty.\n`);
  }
  parts.forEach((part, index) => {
    checkPart(part, `${at}.parts[${index}]`);
  });
}

function checkPart(part: Json, at: string): void {
  const given = DATA_FIELDS.filter((name) => part[name] !== undefined);
  if (given.length === 0) {
    throw invalid(
      `* GenerateContentRequest.${at}.data: required oneof field 'data' must have one initialized field\n`,
    );
  }
  if (given.length > 1) {
    throw badPayload(
      at,
      `Invalid value at '${at}' (oneof), oneof field 'data' is already set. Cannot set '${given[1]}'`,
    );
  }
  const { text } = part;
  if (text !== undefined && typeof text !== "string") {
    throw badPayload(
      `${at}.text`,
      `Invalid value at '${at}.text' (TYPE_STRING), ${JSON.stringify(text)}`,
    );
  }
  checkSignatureBytes(part, at);
  checkMedia(objectOf(part["inlineData"]), at);
  checkCall(objectOf(part["functionCall"]), at);
  checkResponse(objectOf(part["functionResponse"]), at);
}

function checkSignatureBytes({ thoughtSignature }: Json, at: string): void {
  if (thoughtSignature === undefined || DUMMY_SIGNATURES.includes(String(thoughtSignature))) return;
  if (typeof thoughtSignature === "string" && /^[A-Za-z0-9+/_-]+={0,2}$/.test(thoughtSignature)) {
    return;
  }
  const path = `${at}.thought_signature`;
  throw badPayload(
    path,
    `Invalid value at '${path}' (TYPE_BYTES), Base64 decoding failed for "${String(thoughtSignature)}"`,
  );
}

function checkMedia(blob: Json | undefined, at: string): void {
  if (!blob) return;
  const path = `${at}.inline_data`;
  const { data, mimeType } = blob;
  if (typeof data !== "string" || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(data)) {
    throw badPayload(
      `${path}.data`,
      `Invalid value at '${path}.data' (TYPE_BYTES), Base64 decoding failed for "${String(data).slice(0, 40)}"`,
    );
  }
  if (!MEDIA_TYPES.test(String(mimeType))) {
    throw invalid(`Unsupported MIME type: ${String(mimeType ?? "")}`);
  }
}

function checkCall(call: Json | undefined, at: string): void {
  if (!call) return;
  if (!stringOf(call["name"])) {
    throw invalid(`* GenerateContentRequest.${at}.function_call.name: Name cannot be empty.\n`);
  }
  checkStruct(call["args"], `${at}.function_call.args`);
}

function checkResponse(response: Json | undefined, at: string): void {
  if (!response) return;
  if (!stringOf(response["name"])) {
    throw invalid(`* GenerateContentRequest.${at}.function_response.name: Name cannot be empty.\n`);
  }
  const path = `${at}.function_response.response`;
  if (response["response"] === undefined) {
    throw invalid(`* GenerateContentRequest.${path}: response is not specified\n`);
  }
  checkStruct(response["response"], path);
}

function checkStruct(value: unknown, path: string): void {
  if (value === undefined || objectOf(value)) return;
  throw badPayload(
    path,
    `Invalid value at '${path}' (type.googleapis.com/google.protobuf.Struct), ${JSON.stringify(value)}`,
  );
}

function partsWith(content: Json | undefined, field: string): Json[] {
  return objectsOf(content?.["parts"]).filter((part) => part[field] !== undefined);
}

/** Merges consecutive contents of one role. */
function mergeTurns(contents: readonly Json[]): Json[] {
  const turns: Json[] = [];
  for (const content of contents) {
    const { parts, role = "user" } = content;
    const last = turns.at(-1);
    if (last && last["role"] === role) {
      turns[turns.length - 1] = { role, parts: [...objectsOf(last["parts"]), ...objectsOf(parts)] };
    } else turns.push({ role, parts });
  }
  return turns;
}

function checkTurns(contents: readonly Json[]): void {
  const turns = mergeTurns(contents);
  turns.forEach((turn, index) => {
    const calls = partsWith(turn, "functionCall").length;
    const responses = partsWith(turn, "functionResponse").length;
    if (calls > 0 && index === 0) {
      throw invalid(
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
      );
    }
    const called = partsWith(turns[index - 1], "functionCall").length;
    if (responses > 0 && called === 0) {
      throw invalid(
        "Please ensure that function response turn comes immediately after a function call turn.",
      );
    }
    const isAnswered = called === 0 || turn["role"] === "model" || responses === called;
    if (!isAnswered) {
      throw invalid(
        "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
      );
    }
  });
}

/** Checks that in the current turn the first call of each step has its original signature. */
function checkSignatures(contents: readonly Json[]): void {
  const opening = contents.findLastIndex(
    (content) =>
      (content["role"] ?? "user") === "user" && partsWith(content, "functionResponse").length === 0,
  );
  contents.forEach((content, index) => {
    const [first] = partsWith(content, "functionCall");
    if (!first || content["role"] !== "model") return;
    const signature = stringOf(first["thoughtSignature"]);
    const name = String(objectOf(first["functionCall"])?.["name"]);
    if (signature === undefined) {
      if (index < opening) return;
      throw invalid(
        `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\` , position ${index + 1}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`,
      );
    }
    if (DUMMY_SIGNATURES.includes(signature)) return;
    const sealed = signature.replaceAll("-", "+").replaceAll("_", "/");
    if (openSeal("call", sealed, name) !== "intact") {
      throw invalid("Corrupted thought signature.");
    }
  });
}
