/// What the page of a live capture does besides: it fetches itself from its own origin and puts what has changed in the place of what
/// was there. Whoever reads it loses nothing: where the view stands, what has the focus, how tables are sorted and filtered, and what
/// is unfolded. Whoever reads a chart or selects text is waited for.
enum LiveScript {
  static let text = """
    {
      const main = document.querySelector('main'), raw = new Map([...main.children].map(part => [part.id, part.outerHTML]));
      const place = e => {
        const near = e.closest('[id]');
        return !near || e === near ? [near && near.id] : [near.id, e.tagName, [...near.querySelectorAll(e.tagName)].indexOf(e)];
      };
      const find = ([id, tag, i]) => {
        const near = id && document.getElementById(id);
        return near && tag ? near.querySelectorAll(tag)[i] : near;
      };
      const kept = part => {
        const back = [], keep = (e, put) => { const at = place(e); back.push(() => { const now = find(at); if (now) put(now); }); };
        for (const e of part.querySelectorAll('details')) { const open = e.open; keep(e, now => { now.open = open; }); }
        for (const e of part.querySelectorAll('table[data-sort]')) {
          const i = [...e.tHead.rows[0].cells].findIndex(c => c.hasAttribute('aria-sort'));
          const sign = i < 0 ? 0 : e.tHead.rows[0].cells[i].getAttribute('aria-sort') === 'ascending' ? 1 : -1;
          if (i >= 0) keep(e, now => now.sortBy(i, sign));
        }
        for (const e of part.querySelectorAll('.filter input')) {
          const value = e.value;
          if (value) keep(e, now => { now.value = value; now.dispatchEvent(new Event('input')); });
        }
        for (const e of part.querySelectorAll('.scroll, pre')) {
          const [x, y] = [e.scrollLeft, e.scrollTop];
          if (x || y) keep(e, now => { now.scrollLeft = x; now.scrollTop = y; });
        }
        const e = document.activeElement;
        if (part.contains(e)) {
          const range = e.tagName === 'INPUT' ? [e.selectionStart, e.selectionEnd] : null, at = place(e), id = part.id;
          back.push(() => {
            const now = find(at) || document.getElementById(id);
            if (now.id === id) now.tabIndex = -1;
            now.focus({preventScroll: true});
            if (range && now.setSelectionRange) now.setSelectionRange(...range);
          });
        }
        return back;
      };
      const show = page => {
        const fresh = page.querySelector('main'), parts = fresh ? [...fresh.children] : [];
        const made = from => from.querySelector('meta[name=generator]')?.content;
        if (made(page) !== made(document) || parts.map(p => p.id).join() !== [...main.children].map(p => p.id).join()) {
          location.reload();
          return;
        }
        document.title = page.title;
        for (const id of ['title', 'when']) document.getElementById(id).textContent = page.getElementById(id).textContent;
        const seen = e => e && main.contains(e) && e.getBoundingClientRect().bottom > 0 && e.getBoundingClientRect().top < innerHeight;
        const top = seen(document.activeElement) ? document.activeElement
          : document.elementFromPoint(innerWidth / 2, Math.min(40, innerHeight / 2));
        // Between two sections stands none of them.
        const held = !top || !main.contains(top) || scrollY === 0 ? null : seen(document.activeElement) ? top : top.closest('[id]');
        const at = held && place(held);
        const before = at && find(at)?.getBoundingClientRect().top;
        for (const part of parts) {
          const old = document.getElementById(part.id), text = part.outerHTML;
          if (raw.get(part.id) === text || [...old.querySelectorAll('figure')].some(f => f.isRead?.())) continue;
          const back = kept(old);
          old.replaceWith(part);
          raw.set(part.id, text);
          enhance(part);
          for (const put of back) put();
        }
        const now = at && find(at);
        if (now) scrollBy({top: now.getBoundingClientRect().top - before, behavior: 'instant'});
      };
      const bar = document.createElement('p'), pause = document.createElement('button'), told = document.createElement('span');
      bar.className = 'live';
      pause.type = 'button';
      pause.textContent = 'Pause';
      pause.setAttribute('aria-pressed', 'false');
      told.setAttribute('role', 'status');
      bar.append(pause, ' ', told);
      document.getElementById('when').after(bar);
      let isPaused = false, hasFailed = false;
      const tell = () => {
        const text = hasFailed ? 'imdump does not answer: the page shows its last answer.'
          : isPaused ? 'Paused.' : 'Live: refreshed every few seconds.';
        if (told.textContent !== text) told.textContent = text;
        bar.classList.toggle('failed', hasFailed);
      };
      pause.addEventListener('click', () => {
        isPaused = !isPaused;
        pause.setAttribute('aria-pressed', String(isPaused));
        tell();
      });
      const refresh = async () => {
        const next = 2000;
        if (!isPaused && !document.hidden && getSelection().isCollapsed) {
          const begun = performance.now();
          let text = null;
          try {
            const answer = await fetch(location.pathname, {cache: 'no-store', signal: AbortSignal.timeout(20000)});
            if (!answer.ok) throw new Error(answer.status);
            text = await answer.text();
          } catch {
            // It is told below.
          }
          hasFailed = text === null;
          tell();
          try {
            if (text !== null && !isPaused && getSelection().isCollapsed) show(new DOMParser().parseFromString(text, 'text/html'));
          } finally {
            setTimeout(refresh, Math.max(next, 5 * (performance.now() - begun)));
          }
          return;
        }
        setTimeout(refresh, next);
      };
      tell();
      setTimeout(refresh, 2000);
    }

    """
}
