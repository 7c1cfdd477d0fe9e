set -e
export PYTHONPATH=. PYTHONUNBUFFERED=1 ALGORIST_CACHE=/tmp/cache
A="python3 -m algorist"
date
time $A train bfs --out /tmp/bfs --steps 1000 --seeds 0,1,2 --device cuda --validate-every 100 2>&1 | grep -v Warn | tail -14
time $A eval /tmp/bfs --device cuda 2>&1 | tail -8
time $A train insertion_sort,bfs,minimum --out /tmp/three --steps 600 --device cuda --validate-every 100 2>&1 | grep -v Warn| tail -12 || time $A train insertion_sort bfs minimum --out /tmp/three --steps 600 --device cuda --validate-every 100 2>&1 | tail -12
time $A eval /tmp/three --device cuda 2>&1 | tail -8
cp /tmp/bfs/metrics.jsonl $OUT/bfs.jsonl; cp /tmp/three/metrics.jsonl $OUT/three.jsonl; cp /tmp/bfs/best.safetensors $OUT/bfs.safetensors
