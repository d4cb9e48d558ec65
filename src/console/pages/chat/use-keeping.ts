import { type QueryCache, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { onSignedIn, reasonOf } from "../../api/errors.ts";
import { type ChatList, loadChat, useKeepChat } from "../../api/queries/chats.ts";
import type { ChatDocument } from "../../chat/chat-document.ts";
import { showToast } from "../../ui/overlays/toast.tsx";
import { ChatSaves } from "./chat-saves.ts";
import { type Keeping, keepingAfter } from "./keeping.ts";

export interface OpenedChat {
  readonly id: string;
  readonly revision: number;
  readonly document: ChatDocument;
}

export interface KeepingOptions {
  /** The chat as the server has it; undefined for a new one. */
  readonly opened: OpenedChat | undefined;
  readonly isTemporary: boolean;
  readonly list: ChatList | undefined;
  /** Called once a new chat has its id, unless it was left. */
  readonly onKept: (id: string) => void;
}

/** Keeps a chat: one save after another. What could not be saved is sent again once that may help. */
export function useKeeping({ opened, isTemporary, list, onKept }: KeepingOptions) {
  const [keeping, setKeeping] = useState<Keeping>({
    state: opened === undefined && isTemporary ? "temporary" : "kept",
  });
  const [saves] = useState(() => new ChatSaves(opened));
  const [keptId, setKeptId] = useState(opened?.id);
  const saving = useRef(Promise.resolve());
  /** The document that was opened, or sent last. */
  const latest = useRef(opened?.document);
  const isGone = useRef(false);
  /** Whether the page knows the chat by its id. */
  const isNamed = useRef(opened !== undefined);
  const isLeft = useIsLeft();
  const keep = useKeepChat();
  const wish = useRef({ isTemporary, list, onKept, keep: keep.mutateAsync });
  wish.current = { isTemporary, list, onKept, keep: keep.mutateAsync };

  const fail = useCallback(
    (document: ChatDocument, thrown: unknown) => {
      const failed = keepingAfter(thrown);
      isGone.current = failed.state === "gone";
      if (failed.state === "conflict") setKeptId(saves.id);
      setKeeping(failed);
      // Nobody sees its notice any more. Whoever has deleted it does not miss it, and a later save may succeed.
      if (isLeft.current && !isGone.current && document === latest.current) {
        showToast(`The chat that you have left could not be saved: ${reasonOf(thrown)}`);
      }
    },
    [isLeft, saves],
  );
  const saveNow = useCallback(
    async (document: ChatDocument, isAsked: boolean) => {
      // Somebody has deleted it: nobody but a person brings it back.
      if (isGone.current) return;
      const { list, keep } = wish.current;
      // Where somebody asks for it, the server says why there is no place.
      if (!(isAsked || saves.mayBeKept) && hasNoPlace(wish.current)) {
        setKeeping({ state: "temporary" });
        return;
      }
      setKeeping({ state: "saving" });
      try {
        const replaces = (list?.next_replaced ?? []).map(({ id }) => id);
        await saves.save(document, replaces, { keep, find: loadChat });
      } catch (thrown) {
        fail(document, thrown);
        return;
      }
      // Whoever has left the chat meanwhile is not taken back to it.
      if (isLeft.current) return;
      setKeptId(saves.id);
      setKeeping({ state: "kept" });
      if (!isNamed.current) wish.current.onKept(saves.id);
      isNamed.current = true;
    },
    [isLeft, saves, fail],
  );
  const save = useCallback(
    (document: ChatDocument, isAsked = false) => {
      latest.current = document;
      saving.current = saving.current.then(() => saveNow(document, isAsked));
    },
    [saveNow],
  );
  /** Saves a chat that is kept where its settings are others now. */
  const saveSettings = useCallback(
    (document: ChatDocument) => {
      if (saves.isKept && !hasSameSettings(document, latest.current)) save(document);
    },
    [save, saves],
  );
  /** Saves over what another tab has saved, by the revision it has now. */
  const keepThis = (document: ChatDocument, revision: number) => {
    saves.takeOver(revision);
    save(document);
  };
  /** Keeps a chat that was temporary, tries again, or keeps one that was deleted as a new one. */
  const keepNow = (document: ChatDocument) => {
    if (isGone.current) {
      saves.renew();
      isNamed.current = false;
    }
    isGone.current = false;
    save(document, true);
  };
  return { keeping, keptId, save, saveSettings, keepThis, keepNow };
}

function hasSameSettings(document: ChatDocument, before: ChatDocument | undefined): boolean {
  const { model, system, parameters } = document;
  return model === before?.model && system === before.system && parameters === before.parameters;
}

/** Whether a chat that is not kept yet stays so. */
function hasNoPlace({ isTemporary, list }: Pick<KeepingOptions, "isTemporary" | "list">): boolean {
  return isTemporary || list?.keeps_next === false;
}

/** Calls the listener when what kept a chat from being saved may be over: a session has begun, or the gateway answers. */
export function useAnotherTry(keeping: Keeping, listener: () => void): void {
  const isWaiting = keeping.state === "failed" && keeping.isPassing;
  const queries = useQueryClient().getQueryCache();
  const wish = useRef(listener);
  wish.current = listener;
  useEffect(() => {
    if (!isWaiting) return undefined;
    const again = () => wish.current();
    const stops = [onSignedIn(again), onAnswered(queries, again)];
    return () => {
      for (const stop of stops) stop();
    };
  }, [isWaiting, queries]);
}

/** Whether the page has left what called this. */
function useIsLeft() {
  const isLeft = useRef(false);
  useEffect(() => {
    isLeft.current = false;
    return () => {
      isLeft.current = true;
    };
  }, []);
  return isLeft;
}

/** Calls the listener when the gateway has answered another call of the page; returns the function that ends it. */
function onAnswered(queries: QueryCache, listener: () => void): () => void {
  return queries.subscribe((event) => {
    if (event.type === "updated" && event.action.type === "success") listener();
  });
}
