import type {
  ChatMessage,
  ChatRequest,
  ImagePart,
  UserPart,
} from "../../core/chat/chat-request.ts";
import { ServiceError } from "../../core/service-error.ts";
import { toAbortSignal } from "../../lib/cancellation.ts";
import { EgressError } from "../../lib/egress/egress-error.ts";
import type { AddedBytes, Backend } from "../backend.ts";
import type { FetchImage } from "./fetch-image.ts";

/** The most distinct images of one request. */
const MOST_IMAGES = 16;
/** A fetch in progress is not counted yet, so more at once could exceed the total in memory many times over. */
const FETCHES_AT_ONCE = 3;
/** For all images of one request: as much again as the largest request body. */
const MAX_TOTAL_BYTES = 64 * 1024 * 1024;

type MediaMessage = Extract<ChatMessage, { role: "user" | "tool" }>;

/** The fetched content by address. */
type Sources = ReadonlyMap<string, ImagePart["source"]>;

/**
 * Wraps the backend of an engine that cannot fetch images, or must not because it is inside the private network. The
 * gateway fetches them through its egress guard and sends the engine the images themselves.
 */
export function withInlineImages(backend: Backend, fetchImage: FetchImage): Backend {
  const { countTokens } = backend;
  return {
    ...backend,
    chat(request, model, options) {
      // A model without vision refuses the image, so nothing needs to be fetched.
      if (!model.vision || !hasImageUrls(request)) return backend.chat(request, model, options);
      const { added } = options;
      return inlineImages(request, fetchImage, toAbortSignal(options.signal), added)
        .then((inlined) => backend.chat(inlined, model, options))
        .finally(() => added?.releaseAdded());
    },
    // The engine's tokenizer would fetch them too, so the estimate is used.
    ...(countTokens !== undefined && {
      countTokens: async (request, model, options) =>
        hasImageUrls(request) ? undefined : countTokens(request, model, options),
    }),
  };
}

function hasImageUrls({ messages }: ChatRequest): boolean {
  return messages.some((message) => hasMedia(message) && message.content.some(isImageUrl));
}

/**
 * Fetches every image that the request gives by its address, a few in parallel, and returns the request with their
 * contents. Rejects with `invalid_value` naming the image's place when one cannot be fetched, with `overloaded` when
 * the process has no room for them, or with the reason of the signal.
 */
export async function inlineImages(
  request: ChatRequest,
  fetchImage: FetchImage,
  signal: AbortSignal,
  added?: Pick<AddedBytes, "addBytes">,
): Promise<ChatRequest> {
  const sources = await fetchAll(imageUrls(request), { fetchImage, signal, added });
  const messages = request.messages.map((message) =>
    hasMedia(message) && message.content.some(isImageUrl) ? inlineParts(message, sources) : message,
  );
  return { ...request, messages };
}

function inlineParts(message: MediaMessage, sources: Sources): ChatMessage {
  const inline = <Part extends UserPart>(part: Part): Part => {
    if (!isImageUrl(part)) return part;
    return { ...part, source: sources.get(part.source.url) ?? part.source };
  };
  // Two branches, because the two roles have different part types.
  return message.role === "user"
    ? { ...message, content: message.content.map(inline) }
    : { ...message, content: message.content.map(inline) };
}

/** Returns the images by address, so that an image used in several places is fetched once. */
function imageUrls({ messages }: ChatRequest): ReadonlyMap<string, UrlImage> {
  const images = new Map<string, UrlImage>();
  for (const message of messages) {
    for (const part of hasMedia(message) ? message.content : []) {
      if (isImageUrl(part) && !images.has(part.source.url)) images.set(part.source.url, part);
    }
  }
  return images;
}

interface Fetching {
  readonly fetchImage: FetchImage;
  readonly signal: AbortSignal;
  readonly added: Pick<AddedBytes, "addBytes"> | undefined;
}

async function fetchAll(
  images: ReadonlyMap<string, UrlImage>,
  { fetchImage, signal, added }: Fetching,
): Promise<Sources> {
  const [...parts] = images.values();
  const surplus = parts[MOST_IMAGES];
  if (surplus !== undefined) throw refusal(surplus, `a request may hold ${MOST_IMAGES} of them`);
  // The first failure ends the others.
  const failing = new AbortController();
  const both = AbortSignal.any([signal, failing.signal]);
  let bytesLeft = MAX_TOTAL_BYTES;

  const fetchOne = async (part: UrlImage): Promise<[string, ImagePart["source"]]> => {
    try {
      const { mediaType, bytes } = await fetchImage(part.source.url, both);
      bytesLeft -= bytes.length;
      if (bytesLeft < 0) throw new EgressError("too_large", "the request's images are over 64 MiB");
      added?.addBytes(base64Length(bytes.length));
      const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64");
      return [part.source.url, { kind: "base64", mediaType, data }];
    } catch (thrown) {
      const error = thrown instanceof EgressError ? refusal(part, thrown.message) : thrown;
      failing.abort(error);
      throw error;
    }
  };
  const sources = new Map<string, ImagePart["source"]>();
  const left = parts.values();
  const fetchNext = async (): Promise<void> => {
    for (const part of left) sources.set(...(await fetchOne(part)));
  };
  await Promise.all(Array.from({ length: FETCHES_AT_ONCE }, fetchNext));
  return sources;
}

type UrlImage = ImagePart & { readonly source: { readonly kind: "url" } };

/** As which the engine gets it: a character is a byte of the body. */
function base64Length(bytes: number): number {
  return 4 * Math.ceil(bytes / 3);
}

function hasMedia(message: ChatMessage): message is MediaMessage {
  return message.role === "user" || message.role === "tool";
}

function isImageUrl(part: UserPart): part is UrlImage {
  return part.type === "image" && part.source.kind === "url";
}

function refusal({ at }: ImagePart, what: string): ServiceError {
  return new ServiceError(
    "invalid_value",
    `The image${at === undefined ? "" : ` of ${at}`} could not be fetched: ${what}. Send the image itself, as base64, or another address.`,
    { param: at },
  );
}
