import {
  TRANSCRIPTION_FIELDS,
  TranscriptionFields,
} from "../../codecs/transcription/transcription-fields.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { TranscriptionForm, TranscriptionUpload } from "../../core/transcription.ts";
import { type FormWatcher, relayForm } from "../../lib/multipart/multipart-relay.ts";
import { BrokenForm } from "../../lib/multipart/multipart-scanner.ts";
import { multipartType } from "../bodies/multipart-boundary.ts";

export interface UploadOptions {
  readonly body: AsyncIterable<Uint8Array> & { readonly maxBytes: number };
  readonly boundary: string;
  /** The model to ask for by the client's word; undefined leaves it to the server. */
  readonly modelFor: (word: string | undefined) => Promise<string | undefined>;
}

/** What may stand before the recording, in front of the upstream call; with more it begins all the same. */
const MAX_HELD_BYTES = 64 * 1024;

/** Turns a request's body into the form that goes on, and reads the few fields that matter here while it passes. */
export function openTranscriptionUpload(options: UploadOptions): TranscriptionUpload {
  const { body, boundary, modelFor } = options;
  const fields = new TranscriptionFields();
  let model: string | undefined;
  let hasModel = false;
  let resolveForm: (form: TranscriptionForm) => void = () => {};
  let rejectForm: (error: unknown) => void = () => {};
  const form = new Promise<TranscriptionForm>((resolve, reject) => {
    resolveForm = resolve;
    rejectForm = reject;
  });
  // Who waits for the answer alone hears of a failure too.
  form.catch(() => {});

  const watcher: FormWatcher = {
    reads: TRANSCRIPTION_FIELDS,
    onPart: (part) => fields.part(part),
    async onField({ name, value }) {
      fields.field(name, value);
      if (name !== "model") return value;
      hasModel = true;
      model = await modelFor(value === "" ? undefined : value);
      return model ?? value;
    },
    async onEnd() {
      const asked = fields.end();
      if (!hasModel) model = await modelFor(undefined);
      resolveForm(asked);
      return hasModel || model === undefined ? [] : [{ name: "model", value: model }];
    },
  };
  const relayed = failing(relayForm(body, boundary, watcher), rejectForm);
  const held: Uint8Array[] = [];

  return {
    contentType: multipartType(boundary),
    maxBytes: body.maxBytes,
    form,
    model: () => model,
    async begin() {
      let bytes = 0;
      while (!fields.hasFile && bytes < MAX_HELD_BYTES) {
        const { done, value } = await relayed.next();
        if (done === true) return;
        held.push(value);
        bytes += value.length;
      }
    },
    bytes: joined(held, relayed),
  };
}

/** The relay, its failures in the words of the client's form and told to the form too. */
async function* failing(
  relayed: AsyncIterable<Uint8Array>,
  reject: (error: unknown) => void,
): AsyncGenerator<Uint8Array, undefined> {
  try {
    yield* relayed;
  } catch (thrown) {
    const error = thrown instanceof BrokenForm ? brokenForm(thrown) : thrown;
    reject(error);
    throw error;
  } finally {
    // An upstream that wants no more of it leaves the form unread.
    reject(new ServiceError("upstream_error", "The server answered before it had the recording."));
  }
}

async function* joined(
  held: Uint8Array[],
  rest: AsyncGenerator<Uint8Array, undefined>,
): AsyncGenerator<Uint8Array, undefined> {
  try {
    yield* held.splice(0);
    yield* rest;
  } finally {
    await rest.return(undefined);
  }
}

function brokenForm({ message }: BrokenForm): ServiceError {
  return new ServiceError("invalid_value", `The body is not a valid multipart form: ${message}.`);
}
