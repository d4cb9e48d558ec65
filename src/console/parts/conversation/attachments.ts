import { useState } from "react";
import { api } from "../../api/client.ts";
import { unwrap } from "../../api/errors.ts";
import type { MessagePart } from "../../chat/chat-document.ts";

/** Pictures are made this small in the page: models look at no more, and a chat has 4 MiB. */
const MAX_EDGE = 1_568;
const PICTURES = /^image\/(?:png|jpeg|webp|gif)$/;
const QUALITY = 0.85;

/** Reads a file that somebody attaches: a picture as a small picture, everything else as the text in it. */
async function readAttachment(file: File): Promise<MessagePart> {
  if (PICTURES.test(file.type)) {
    return { type: "image", data: await scaledPicture(file), name: file.name };
  }
  const body = new FormData();
  body.append("file", file);
  const read = await unwrap(
    api.POST("/api/documents/text", {
      body: body as never,
      bodySerializer: (form: unknown) => form as FormData,
    }),
  );
  return { type: "file", name: file.name, text: read.text };
}

async function scaledPicture(file: File): Promise<string> {
  const picture = await createImageBitmap(file);
  const scale = Math.min(1, MAX_EDGE / Math.max(picture.width, picture.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(picture.width * scale));
  canvas.height = Math.max(1, Math.round(picture.height * scale));
  canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
  picture.close();
  // A PNG may have parts to see through, which a JPEG shows black.
  const type = file.type === "image/jpeg" ? "image/jpeg" : "image/webp";
  return canvas.toDataURL(type, QUALITY);
}

/** The files of a message that is being written, in the order in which they were read. */
export function useAttachments() {
  const [parts, setParts] = useState<readonly MessagePart[]>([]);
  // Files that are chosen while others are being read are read beside them.
  const [readings, setReadings] = useState(0);
  const [error, setError] = useState<unknown>();
  return {
    ...{ parts, isReading: readings > 0, error, setError },
    async add(files: readonly File[]) {
      setReadings((now) => now + 1);
      setError(undefined);
      for (const file of files) {
        try {
          const part = await readAttachment(file);
          setParts((before) => [...before, part]);
        } catch (thrown) {
          setError(thrown);
        }
      }
      setReadings((now) => now - 1);
    },
    remove: (part: MessagePart) => setParts((before) => before.filter((other) => other !== part)),
    clear: () => setParts([]),
  };
}
