import { type QueryCache, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { ApiError, onSignedIn } from "../../api/errors.ts";
import { type ChatList, type StoredDocument, useKeepChat } from "../../api/queries/chats.ts";
import { type ChatDocument, emptyDocument } from "../../chat/chat-document.ts";
import { LiveChat } from "../../chat/live-chat.ts";
import { now } from "../../lib/clock.ts";
import { askModel } from "../../parts/conversation/ask-model.ts";
import { pacedFrames } from "../../parts/conversation/paced-frames.ts";

/** Where a chat stands with the server. */
export type Keeping =
  | { readonly state: "temporary" }
  | { readonly state: "kept" | "saving" }
  /** Another tab has saved meanwhile: this one keeps its own until somebody decides. */
  | { readonly state: "conflict" }
  | { readonly state: "failed"; readonly error: unknown };

interface Opened {
  readonly id: string;
  readonly revision: number;
  readonly document: ChatDocument;
}

interface ChatOptions {
  /** The chat as the server has it; undefined for a new one. */
  readonly opened: Opened | undefined;
  readonly model: string;
  readonly isTemporary: boolean;
  readonly list: ChatList | undefined;
  /** Called once a new chat has its id. */
  readonly onKept: (id: string) => void;
}

export type ChatUse = ReturnType<typeof useChat>;

/**
 * A chat in use, and its keeping: it is saved after each question and answer, one save after another. The document that is
 * returned is the chat's outline: only the chat's state has a growing answer.
 */
export function useChat({ opened, model, isTemporary, list, onKept }: ChatOptions) {
  const [keeping, setKeeping] = useState<Keeping>({
    state: opened === undefined && isTemporary ? "temporary" : "kept",
  });
  const kept = useRef(opened && { id: opened.id, revision: opened.revision });
  const [keptId, setKeptId] = useState(opened?.id);
  const saving = useRef(Promise.resolve());
  const isLeft = useRef(false);
  useEffect(() => {
    isLeft.current = false;
    return () => {
      isLeft.current = true;
    };
  }, []);
  const keep = useKeepChat();
  const wish = useRef({ isTemporary, list, onKept, keep: keep.mutateAsync });
  wish.current = { isTemporary, list, onKept, keep: keep.mutateAsync };

  const save = useCallback((document: ChatDocument) => {
    saving.current = saving.current.then(async () => {
      const { list, isTemporary, keep, onKept } = wish.current;
      if (kept.current === undefined && (isTemporary || list?.keeps_next === false)) {
        setKeeping({ state: "temporary" });
        return;
      }
      setKeeping({ state: "saving" });
      const replaces = (list?.next_replaced ?? []).map(({ id }) => id);
      const before = kept.current;
      // The server keeps more kinds of parts than this release knows.
      const body = document as unknown as StoredDocument;
      const after = await keep({ document: body, kept: before, replaces }).catch(
        (thrown: unknown) => {
          setKeeping(faultOf(thrown));
        },
      );
      if (after === undefined) return;
      kept.current = { id: after.id, revision: after.revision };
      // Whoever has left the chat meanwhile is not taken back to it.
      if (isLeft.current) return;
      setKeptId(after.id);
      setKeeping({ state: "kept" });
      if (before === undefined) onKept(after.id);
    });
  }, []);

  // One live chat for as long as the page shows this chat: its answer goes on while lists and settings are fetched anew.
  // biome-ignore lint/correctness/useExhaustiveDependencies: made once; the page has a key for each chat
  const chat = useMemo(
    () =>
      new LiveChat(opened?.document ?? emptyDocument(model), {
        ask: askModel,
        settled: save,
        nextFrame: pacedFrames(),
        now,
      }),
    [],
  );
  // Leaving the chat frees the engine; what there is of the answer is saved as stopped.
  useEffect(() => () => chat.stop(), [chat]);
  const outline = useSyncExternalStore(chat.subscribe, chat.outline);
  // What kept it from being saved may be over: a session that had ended, or a gateway that was away.
  const hasFailed = keeping.state === "failed";
  const queries = useQueryClient().getQueryCache();
  useEffect(() => {
    if (!hasFailed) return undefined;
    const again = () => save(chat.state().document);
    const stops = [onSignedIn(again), onAnswered(queries, again)];
    return () => {
      for (const stop of stops) stop();
    };
  }, [hasFailed, save, chat, queries]);

  /** Saves over what another tab has saved, by the revision it has now. */
  const keepThis = (revision: number) => {
    if (kept.current !== undefined) kept.current = { ...kept.current, revision };
    save(chat.state().document);
  };
  /** Keeps a chat that was temporary, or tries again. */
  const keepNow = () => {
    wish.current = { ...wish.current, isTemporary: false };
    save(chat.state().document);
  };
  return { chat, ...outline, keptId, keeping, save, keep: keepNow, keepThis };
}

/** Calls the listener when the gateway has answered another call of the page; returns the function that ends it. */
function onAnswered(queries: QueryCache, listener: () => void): () => void {
  return queries.subscribe((event) => {
    if (event.type === "updated" && event.action.type === "success") listener();
  });
}

function faultOf(thrown: unknown): Keeping {
  const isConflict = thrown instanceof ApiError && thrown.code === "version_conflict";
  return isConflict ? { state: "conflict" } : { state: "failed", error: thrown };
}
