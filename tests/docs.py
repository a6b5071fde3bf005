"""docs/formats/NAME.md is what `modelfs describe NAME` prints."""
import os
import subprocess
import sys

program = os.environ['MODELFS']
where = os.path.join(os.environ['MODELFS_SOURCE'], 'docs', 'formats')
listed = subprocess.run([program, 'describe'], capture_output=True, text=True, check=True).stdout
names = [line.split()[0] for line in listed.splitlines()]
bad = []
for name in names:
    page = subprocess.run([program, 'describe', name], capture_output=True, check=True).stdout
    path = os.path.join(where, name + '.md')
    if not os.path.exists(path) or open(path, 'rb').read() != page:
        bad.append(f'{path} differs; write it anew: modelfs describe {name} > docs/formats/{name}.md')
extra = {n[:-3] for n in os.listdir(where) if n.endswith('.md')} - set(names) - {'README'}
bad += [f'docs/formats/{n}.md describes no format' for n in sorted(extra)]
print('\n'.join(bad) or f'{len(names)} pages are current')
sys.exit(1 if bad or not names else 0)
