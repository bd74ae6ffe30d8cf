// When the page was painted.

/** Resolves after the next picture was drawn: what was posted in a frame is heard after that frame's drawing. */
export function afterPaint(): Promise<void> {
  return new Promise((done) => {
    requestAnimationFrame(() => {
      const line = new MessageChannel();
      line.port1.onmessage = () => {
        line.port1.close();
        done();
      };
      line.port2.postMessage(null);
    });
  });
}
