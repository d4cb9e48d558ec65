export const TRANSCRIPT_FORMATS = [
  "json",
  "text",
  "srt",
  "vtt",
  "verbose_json",
  "diarized_json",
] as const;

export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number];

/** The part of a transcription form that determines the shape of the answer. */
export interface TranscriptionForm {
  readonly format: TranscriptFormat;
  /** Answer as server-sent events. */
  readonly stream: boolean;
}

/** A form with a recording, streamed from the client to the transcription server. */
export interface TranscriptionUpload {
  /** The content type of the whole body, including its boundary. */
  readonly contentType: string;
  /** The maximum size of the body in bytes, as far as it is known before the body is read. */
  readonly maxBytes: number;
  /** The body as it is forwarded. It can be read once, and is read only as fast as it is pulled. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Resolves when the recording begins. Rejects with a `ServiceError` when the form is invalid before that. */
  readonly begin: () => Promise<void>;
  /** Settles when the whole form has been read, because fields may follow the recording. */
  readonly form: Promise<TranscriptionForm>;
  /** Returns the requested model, as far as the form has been read. */
  readonly model: () => string | undefined;
}
