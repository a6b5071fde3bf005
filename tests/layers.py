"""Dependencies point one way: core <- formats, core <- export, and fs uses all three but names no format."""
import os
import re
import sys

root = os.path.join(os.environ.get('MODELFS_SOURCE', os.path.join(os.path.dirname(__file__), '..')), 'src')
headers = {}
for folder in ('formats/core', 'formats', 'export', 'fs'):
    for name in os.listdir(os.path.join(root, folder)):
        if name.endswith('.h'):
            headers[name] = folder
MAY = {'formats/core': {'formats/core'}, 'formats': {'formats', 'formats/core'}, 'export': {'export', 'formats/core'},
       'fs': {'fs', 'export', 'formats/core'}}
names = re.search(r"format_names = \[(.*?)\]", open(os.path.join(root, 'formats', 'meson.build')).read(), re.S)
names = re.findall(r"'(\w+)'", names.group(1))
bad, seen = [], 0
for folder, may in MAY.items():
    for name in sorted(os.listdir(os.path.join(root, folder))):
        if not name.endswith(('.c', '.h')):
            continue
        text = open(os.path.join(root, folder, name)).read()
        seen += 1
        for inc in re.findall(r'#include "([^"]+)"', text):
            if inc in headers and headers[inc] not in may:
                bad.append(f'{folder}/{name} includes {inc} of {headers[inc]}')
        if folder != 'fs':
            continue
        code = re.sub(r'/\*.*?\*/', '', text, flags=re.S)
        for f in names:
            if re.search(r'\bfmt_%s\b|"%s"' % (f, f), code):
                bad.append(f'fs/{name} names the format {f}')
for line in bad:
    print(line)
print(f'{seen} files, {len(bad)} wrong dependencies')
sys.exit(1 if bad or seen < 20 else 0)
