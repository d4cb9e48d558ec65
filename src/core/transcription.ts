export const TRANSCRIPT_FORMATS = [
  "json",
  "text",
  "srt",
  "vtt",
  "verbose_json",
  "diarized_json",
] as const;

export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number];

/** What the form of a transcription asks of its answer. */
export interface TranscriptionForm {
  readonly format: TranscriptFormat;
  /** Answer as server-sent events. */
  readonly stream: boolean;
}

/** A form with a recording, on its way from the client to the server that transcribes. */
export interface TranscriptionUpload {
  /** Of the whole body, its boundary included. */
  readonly contentType: string;
  /** The most bytes that the body has, as far as is known before it is read. */
  readonly maxBytes: number;
  /** The body as it goes on; it is read as fast as it is pulled, once. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Resolves when the recording begins. Rejects with a `ServiceError` when the form is wrong before that. */
  readonly begin: () => Promise<void>;
  /** Settled when the form has been read to its end, for its fields may stand behind the recording. */
  readonly form: Promise<TranscriptionForm>;
  /** The model that is asked for, as far as the form has told. */
  readonly model: () => string | undefined;
}
