/// What the page does beside being read: sorting, filtering, and reading a chart column by column. Without scripts nothing is missing
/// but these.
enum Script {
  /// The script of a page; with `isLive`, of one that fetches itself anew.
  static func text(isLive: Bool) -> String { functions + (isLive ? LiveScript.text : "") + start }

  /// What makes the charts and tables of a part of the page usable.
  private static let functions = """
    'use strict';
    const enhance = part => {
    for (const figure of part.querySelectorAll('figure[data-rows]')) {
      const svg = figure.querySelector('svg'), cross = svg.querySelector('.cross');
      const table = document.getElementById(figure.dataset.rows);
      const out = document.createElement('p');
      out.className = 'readout';
      out.setAttribute('role', 'status');
      const idle = 'Point at the chart, or focus it and use the arrow keys, to read its values.';
      out.textContent = idle;
      figure.append(out);
      const heads = [...table.tHead.rows[0].cells].map(c => c.textContent);
      const rows = [...table.tBodies[0].rows];
      const left = +svg.dataset.left, right = +svg.dataset.right;
      let at = -1, pointing = false;
      const show = i => {
        if (!rows.length) return;
        at = Math.max(0, Math.min(rows.length - 1, i));
        const cells = [...rows[at].cells].map(c => c.textContent);
        out.textContent = cells[0] + ': ' + cells.slice(1).map((c, k) => heads[k + 1] + ' ' + c).join(', ');
        const x = left + (at + .5) * (right - left) / rows.length, box = svg.parentElement;
        if (box.scrollWidth > box.clientWidth && !pointing) box.scrollLeft = x * svg.clientWidth / 960 - box.clientWidth / 2;
        cross.setAttribute('transform', 'translate(' + x + ' 0)');
        cross.classList.add('on');
      };
      figure.isRead = () => at >= 0;
      const hide = () => { at = -1; cross.classList.remove('on'); out.textContent = idle; };
      figure.tabIndex = 0;
      svg.addEventListener('pointermove', e => {
        const box = svg.getBoundingClientRect(), x = (e.clientX - box.left) * 960 / box.width;
        pointing = true;
        if (x >= left && x <= right) show(Math.floor((x - left) / (right - left) * rows.length));
        pointing = false;
      });
      svg.addEventListener('pointerleave', hide);
      figure.addEventListener('keydown', e => {
        if (e.target !== figure) return;
        const far = Math.max(1, Math.round(rows.length / 10));
        const to = {ArrowRight: at + 1, ArrowLeft: at < 0 ? rows.length - 1 : at - 1, PageDown: at + far, PageUp: at - far,
          Home: 0, End: rows.length - 1}[e.key];
        if (to !== undefined) show(to); else if (e.key === 'Escape') hide(); else return;
        e.preventDefault();
      });
    }
    const value = (row, i) => row.cells[i].dataset.v ?? row.cells[i].textContent;
    for (const table of part.querySelectorAll('table[data-sort]')) {
      table.sortBy = (i, sign) => {
        const head = table.tHead.rows[0].cells[i], numeric = head.className === 'n', body = table.tBodies[0];
        for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
        head.setAttribute('aria-sort', sign > 0 ? 'ascending' : 'descending');
        body.append(...[...body.rows].map((row, k) => [row, value(row, i), k]).sort((a, b) => {
          if (!numeric) return sign * (a[1] < b[1] ? -1 : a[1] > b[1] ? 1 : 0) || a[2] - b[2];
          const x = a[1] === '' || isNaN(a[1]), y = b[1] === '' || isNaN(b[1]);
          return x || y ? x - y || a[2] - b[2] : sign * (a[1] - b[1]) || a[2] - b[2];
        }).map(r => r[0]));
      };
      [...table.tHead.rows[0].cells].forEach((head, i) => {
        const button = document.createElement('button');
        button.type = 'button';
        button.append(...head.childNodes);
        head.append(button);
        button.addEventListener('click', () => {
          const down = head.getAttribute('aria-sort') === (head.className === 'n' ? 'descending' : 'ascending');
          table.sortBy(i, (head.className === 'n') === down ? 1 : -1);
        });
      });
    }
    for (const table of part.querySelectorAll('table[data-filter]')) {
      const label = document.createElement('label'), input = document.createElement('input'), out = document.createElement('output');
      label.className = 'filter';
      input.type = 'search';
      input.autocomplete = 'off';
      input.spellcheck = false;
      label.append('Filter ', input, ' ', out);
      table.closest('.scroll').before(label);
      const rows = [...table.tBodies[0].rows], words = rows.map(row => row.textContent.toLowerCase());
      const tell = n => { out.textContent = n === rows.length ? '' : n + ' of ' + rows.length; };
      input.addEventListener('input', () => {
        const wanted = input.value.toLowerCase().split(' ').filter(Boolean);
        let n = 0;
        rows.forEach((row, i) => {
          row.hidden = !wanted.every(word => words[i].includes(word));
          n += !row.hidden;
        });
        tell(n);
      });
    }
    };

    """

  private static let start = """
    enhance(document);
    const open = () => {
      const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
      const details = target && (target.tagName === 'DETAILS' ? target : target.closest('details'));
      if (details) { details.open = true; target.scrollIntoView(); }
    };
    addEventListener('hashchange', open);
    open();
    addEventListener('beforeprint', () => document.querySelectorAll('details.ladder').forEach(d => { d.open = true; }));

    """
}
