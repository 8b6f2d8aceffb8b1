// A narrow page has fewer panels side by side, and narrower ones, rather than smaller letters. SVG,
// because a canvas that the page shrinks would look for the pointer where it is not.
function fitted(spec, room) {
  const inner = spec.spec || spec, across = spec.columns || 1;
  const legend = spec.config.legend, share = room / (across * (inner.width + beside));
  if (spec.columns)
    spec.columns = Math.max(1, Math.min(across, Math.floor(room / (inner.width + beside))));
  inner.width = Math.min(inner.width, room - beside);
  legend.columns = Math.max(1, Math.floor(legend.columns * Math.min(1, share)));
  return spec;
}
let drawn = 0;
function draw() {
  if (drawn === document.body.clientWidth) return;
  drawn = document.body.clientWidth;
  specs.forEach((spec, i) => {
    const place = document.getElementById('figure' + i);
    const fit = fitted(structuredClone(spec), place.clientWidth);
    vegaEmbed(place, fit, {actions: false, renderer: 'svg'});
  });
}
draw();
addEventListener('resize', draw);
