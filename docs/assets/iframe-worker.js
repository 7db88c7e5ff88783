// Search in pages that are opened from disk. Browsers start no worker for a file, so that the
// worker's script runs in a hidden frame instead, and the same messages go back and forth.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super()
      this.waiting = []
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.frame.srcdoc = `<!doctype html><script>
        const outside = parent
        window.postMessage = message => outside.dispatchEvent(
          new CustomEvent("frame-worker", { detail: { frame: window, message } }))
        window.importScripts = (...scripts) => scripts.reduce((last, script) =>
          last.then(() => new Promise((done, failed) => {
            const element = document.createElement("script")
            element.src = new URL(script, ${JSON.stringify(String(address))}).href
            element.onload = done
            element.onerror = failed
            document.body.append(element)
          })), Promise.resolve())
      <\/script><body><script src="${address}"><\/script></body>`
      this.frame.onload = () => {
        this.ready = true
        for (const message of this.waiting.splice(0)) this.postMessage(message)
      }
      addEventListener("frame-worker", ({ detail }) => {
        if (detail.frame !== this.frame.contentWindow) return
        const event = new MessageEvent("message", { data: detail.message })
        this.dispatchEvent(event)
        if (this.onmessage) this.onmessage(event)
      })
      document.body.append(this.frame)
    }
    postMessage(message) {
      if (!this.ready) return void this.waiting.push(message)
      const inside = this.frame.contentWindow
      inside.dispatchEvent(new inside.MessageEvent("message", { data: message }))
    }
    terminate() {
      this.frame.remove()
    }
  }
}
