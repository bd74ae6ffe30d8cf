// Text to the clipboard, by the way that this web view offers.

/** Whether it was copied. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Older WebKitGTK has no clipboard on custom schemes.
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "sr";
    const before = document.activeElement;
    document.body.append(area);
    area.select();
    let done = false;
    try {
      done = document.execCommand("copy");
    } catch {
      done = false;
    }
    area.remove();
    if (before instanceof HTMLElement) before.focus();
    return done;
  }
}
