import { ApiError, toApiError } from "../../api/errors.ts";

/** The name that servers of transcriptions know; one that hears by another name says so in its error. */
const MODEL = "whisper-1";

export interface Recording {
  /** Ends it and returns what was said. Rejects with {@link ApiError}. */
  readonly finish: () => Promise<string>;
  /** Ends it, unless it has ended. */
  readonly discard: () => void;
}

/** Why this browser cannot record; undefined where it can. */
export function recordingFault(): string | undefined {
  if (!window.isSecureContext) return "Browsers record only over TLS or on this machine";
  if (navigator.mediaDevices === undefined || !("MediaRecorder" in window)) {
    return "This browser cannot record";
  }
  return undefined;
}

/** Records the microphone until it is finished. Rejects when the person or the browser refuses. */
export async function record(): Promise<Recording> {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  const recorder = new MediaRecorder(stream);
  const pieces: Blob[] = [];
  recorder.addEventListener("dataavailable", ({ data }) => pieces.push(data));
  const stopped = new Promise<void>((resolve) => {
    recorder.addEventListener("stop", () => {
      for (const track of stream.getTracks()) track.stop();
      resolve();
    });
  });
  recorder.start();
  // It ends by itself when the microphone is taken away.
  const stop = () => {
    if (recorder.state !== "inactive") recorder.stop();
  };
  return {
    discard: stop,
    async finish() {
      stop();
      await stopped;
      return transcribe(new Blob(pieces, { type: recorder.mimeType }));
    },
  };
}

async function transcribe(sound: Blob): Promise<string> {
  const body = new FormData();
  const extension = sound.type.includes("mp4") ? "mp4" : "webm";
  body.append("file", sound, `recording.${extension}`);
  body.append("model", MODEL);
  const response = await fetch("/api/v1/audio/transcriptions", { method: "POST", body }).catch(
    () => {
      throw new ApiError("The gateway does not answer.", {
        ...{ status: 0, code: "network", param: null, requestId: null, retryAfterSeconds: null },
      });
    },
  );
  const answer = (await response.json().catch(() => undefined)) as { readonly text?: string };
  if (!response.ok) throw toApiError(response, answer);
  return answer.text ?? "";
}
