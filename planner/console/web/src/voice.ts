// Talk and listen with the browser's own speech, where that works on this device: no sound leaves it.

import type { App } from "./app";
import { inControl } from "./app";
import { byId } from "./draw";

const LANGUAGE = "en-US";
const STOP = /\bstop\b/i;

interface Recognition extends EventTarget {
  lang: string;
  continuous: boolean;
  interimResults: boolean;
  processLocally: boolean;
  start(): void;
  stop(): void;
}

interface RecognitionClass {
  new (): Recognition;
  /** Browsers that recognise on the device have it; all others send what they hear elsewhere. */
  available?(wanted: { langs: string[]; processLocally: boolean }): Promise<string>;
}

type Results = Event & { results: ArrayLike<ArrayLike<{ transcript: string }> & { isFinal: boolean }> };

export class Voice {
  private recognition: Recognition | null = null;
  private stopped = false;
  private asked = "";

  constructor(
    private app: App,
    private say: (words: string) => void,
  ) {
    const speaks = byId<HTMLInputElement>("speak");
    byId("speak-label").hidden = !("speechSynthesis" in window);
    speaks.addEventListener("change", () => speaks.checked || speechSynthesis.cancel());
    void this.begin();
  }

  private async begin(): Promise<void> {
    const known = window as unknown as Record<string, RecognitionClass | undefined>;
    const made = known["SpeechRecognition"] ?? known["webkitSpeechRecognition"];
    const wanted = { langs: [LANGUAGE], processLocally: true };
    if ((await made?.available?.(wanted).catch(() => "")) !== "available" || !made) return;
    const recognition = (this.recognition = new made());
    Object.assign(recognition, { lang: LANGUAGE, continuous: true, interimResults: true, processLocally: true });
    recognition.addEventListener("result", (event) => this.hear(event as Results));
    recognition.addEventListener("error", () => this.app.tell("the browser did not hear that", false));
    const talk = byId<HTMLButtonElement>("talk");
    talk.hidden = false;
    talk.addEventListener("pointerdown", () => this.listen(true));
    for (const end of ["pointerup", "pointerleave", "blur"]) talk.addEventListener(end, () => this.listen(false));
    talk.addEventListener("keydown", (event) => (event.key === " " && !event.repeat ? this.listen(true) : null));
    talk.addEventListener("keyup", (event) => (event.key === " " ? this.listen(false) : null));
  }

  private listen(on: boolean): void {
    const talk = byId("talk");
    if (on === talk.classList.contains("on")) return;
    talk.classList.toggle("on", on);
    if (on) {
      this.stopped = false;
      window.speechSynthesis?.cancel();
      this.recognition?.start();
    } else this.recognition?.stop();
  }

  /** "Stop" counts as soon as it is guessed; all else when it is sure. */
  private hear(event: Results): void {
    const results = Array.from(event.results);
    const words = results.map((result) => result[0]?.transcript ?? "").join(" ").trim();
    if (STOP.test(words) && !this.stopped) {
      this.stopped = true;
      if (inControl(this.app)) this.say("stop");
      else void this.app.order({ type: "stop" });
    } else if (!this.stopped && words && results.every((result) => result.isFinal)) this.say(words);
  }

  /** Says a reply, where the person wants that. */
  reply(text: string): void {
    if (!byId<HTMLInputElement>("speak").checked) return;
    const said = new SpeechSynthesisUtterance(text.replace(/^[A-Z_]+: /, ""));
    const voice = speechSynthesis.getVoices().find((each) => each.localService && each.lang.startsWith("en"));
    // A voice of a server would get the words.
    if (!voice) return;
    said.voice = voice;
    speechSynthesis.speak(said);
  }

  /** Says a question once. */
  ask(question: string): void {
    if (question && question !== this.asked) this.reply(question);
    this.asked = question;
  }
}
