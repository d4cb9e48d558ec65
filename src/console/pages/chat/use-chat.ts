import { useCallback, useEffect, useMemo, useSyncExternalStore } from "react";
import { emptyDocument } from "../../chat/chat-document.ts";
import { LiveChat } from "../../chat/live-chat.ts";
import { now } from "../../lib/clock.ts";
import { askModel } from "../../parts/conversation/ask-model.ts";
import { pacedFrames } from "../../parts/conversation/paced-frames.ts";
import { type KeepingOptions, useAnotherTry, useKeeping } from "./use-keeping.ts";

interface ChatOptions extends KeepingOptions {
  readonly model: string;
}

export type ChatUse = ReturnType<typeof useChat>;

/**
 * A chat in use, and its keeping: it is saved after each question and answer. The document that is returned is the chat's
 * outline: only the chat's state has a growing answer.
 */
export function useChat({ model, ...options }: ChatOptions) {
  const { opened } = options;
  const { keeping, keptId, save, ...keep } = useKeeping(options);
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
  /** Saves the settings of a chat that is kept; while an answer is being written, its end saves them. */
  const saveSettings = useCallback(() => {
    const { document, answering } = chat.state();
    if (answering === null) keep.saveSettings(document);
  }, [chat, keep.saveSettings]);
  // Leaving the chat frees the engine; what there is of the answer is saved as stopped.
  useEffect(
    () => () => {
      chat.stop();
      saveSettings();
    },
    [chat, saveSettings],
  );
  useEffect(() => {
    // What a closed tab has is lost, and so is what a telephone gives up in the background. Both are hidden before.
    const keepSoFar = () => {
      if (document.hidden && chat.state().answering !== null) save(chat.soFar());
    };
    document.addEventListener("visibilitychange", keepSoFar);
    return () => document.removeEventListener("visibilitychange", keepSoFar);
  }, [chat, save]);
  const outline = useSyncExternalStore(chat.subscribe, chat.outline);
  useAnotherTry(keeping, () => save(chat.state().document));
  return {
    ...{ chat, ...outline, keptId, keeping, save, saveSettings },
    keepThis: (revision: number) => keep.keepThis(chat.state().document, revision),
    keep: () => keep.keepNow(chat.state().document),
  };
}
