import { type ReactNode, useState } from "react";
import type { Chunking } from "../../api/queries/store-files.ts";
import { DropZone } from "../../ui/forms/drop-zone.tsx";
import { Splitting } from "./splitting.tsx";
import { type AddToStore, uploadsInto } from "./store-uploads.ts";
import { Uploads } from "./uploads.tsx";

interface AddFilesProps {
  readonly storeId: string;
  /** Given, because code that the page has as well would bind this part to all of the page. */
  readonly onAdd: AddToStore;
  /** Of the files that the store has, as far as they are known here. */
  readonly names: ReadonlySet<string>;
  /** The other ways by which files come into it. */
  readonly children: ReactNode;
}

/** Where files are dropped for a store, and what is on its way into it. */
export function AddFiles({ storeId, onAdd, names, children }: AddFilesProps) {
  const queue = uploadsInto(storeId, onAdd);
  const [chunking, setChunking] = useState<Chunking>();
  return (
    <>
      <DropZone what="files" isMultiple isLow onFiles={(files) => queue.add(files, chunking)} />
      <div className="flex flex-wrap items-center gap-2">
        <Splitting chunking={chunking} onChange={setChunking} />
        {children}
      </div>
      <Uploads queue={queue} names={names} />
    </>
  );
}
