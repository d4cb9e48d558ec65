import type { Model } from "../../backends/backend.ts";
import type {
  AssistantPart,
  AudioPart,
  ChatRequest,
  DocumentPart,
  ImagePart,
  UserPart,
} from "../../core/chat/chat-request.ts";
import { ServiceError } from "../../core/service-error.ts";

type Attachment = ImagePart | AudioPart | DocumentPart;

/** The trait that a model needs to accept a part, and the words for it in the error. */
const DEMANDS = {
  image: { trait: "vision", name: "an image", ability: "read images" },
  document: { trait: "documents", name: "a document", ability: "read documents" },
  audio: { trait: "audio", name: "sound", ability: "listen to sound" },
} as const;

/**
 * Throws `invalid_value` naming the first part of the request that its model cannot accept. No part is dropped
 * silently.
 */
export function checkContent({ messages }: ChatRequest, model: Model): void {
  if (model.vision && model.documents && model.audio) return;
  for (const { content } of messages) {
    for (const part of content) {
      if (isAttachment(part) && !model[DEMANDS[part.type].trait]) throw notTaken(part, model);
    }
  }
}

function isAttachment(part: UserPart | AssistantPart): part is Attachment {
  return part.type in DEMANDS;
}

function notTaken({ type, at = "messages" }: Attachment, { id }: Model): ServiceError {
  const { name, ability } = DEMANDS[type];
  return new ServiceError(
    "invalid_value",
    `'${at}' is ${name}, and the model '${id}' does not ${ability}. Remove it, or name a model that does.`,
    { param: at },
  );
}
