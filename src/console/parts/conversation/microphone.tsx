import { Mic } from "lucide-react";
import { type Dispatch, type SetStateAction, useEffect, useRef, useState } from "react";
import { Button } from "../../ui/buttons/button.tsx";
import { IconButton } from "../../ui/buttons/icon-button.tsx";
import { type Recording, record, recordingFault } from "./recording.ts";

interface MicrophoneProps {
  readonly onDraft: Dispatch<SetStateAction<string>>;
  readonly onError: (error: unknown) => void;
}

/** Records a message, and adds what was said to what is typed by then. */
export function Microphone({ onDraft, onError }: MicrophoneProps) {
  const { recording, isBeginning, begin, forget } = useRecording(onError);
  const [isBusy, setBusy] = useState(false);
  const finish = async () => {
    setBusy(true);
    try {
      const text = (await recording?.finish()) ?? "";
      onDraft((typed) => (typed === "" ? text : `${typed} ${text}`));
    } catch (thrown) {
      onError(thrown);
    }
    forget();
    setBusy(false);
  };
  if (recording === undefined) {
    return (
      <IconButton
        icon={Mic}
        label="Record a message"
        isBusy={isBeginning}
        disabledReason={recordingFault()}
        onClick={() => void begin()}
      />
    );
  }
  return (
    <Button isBusy={isBusy} onClick={() => void finish()}>
      <Mic size={16} aria-hidden className="text-bad" />
      End the recording
    </Button>
  );
}

/** One recording at a time. It ends with the page, also where the person permits it after the page was left. */
function useRecording(onError: (error: unknown) => void) {
  const [recording, setRecording] = useState<Recording>();
  const [isBeginning, setBeginning] = useState(false);
  const isAsking = useRef(false);
  const isLeft = useRef(false);
  useEffect(() => {
    isLeft.current = false;
    return () => {
      isLeft.current = true;
    };
  }, []);
  useEffect(() => () => recording?.discard(), [recording]);
  const begin = async () => {
    // A second click comes before the button is drawn as busy.
    if (isAsking.current) return;
    isAsking.current = true;
    setBeginning(true);
    onError(undefined);
    try {
      const begun = await record();
      if (isLeft.current) begun.discard();
      else setRecording(begun);
    } catch (thrown) {
      onError(thrown);
    }
    isAsking.current = false;
    setBeginning(false);
  };
  return { recording, isBeginning, begin, forget: () => setRecording(undefined) };
}
