package io.leasehold.redis.wire;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The rules of readers, writers and their queue at one node, written once more: for comparison with the scripts. */
final class ReaderModel {

    /** A waiter; with a claim it is handed the lock, without one it is woken. */
    record Waiter(String owner, boolean reads, boolean claims, int reserve, boolean hears) {}

    /** The writer that holds the lock, or null. */
    String writer;
    /** The readers that hold the lock, with their tokens. */
    final Map<String, Long> readers = new TreeMap<>();

    final List<Waiter> line = new ArrayList<>();
    long fence;
    private long floor;
    private long floorOf;
    /** The owner tokens that were handed the lock. */
    final List<String> handed = new ArrayList<>();

    /** The floor of readers. */
    long readFloor() {
        return floorOf == fence ? floor : fence;
    }

    private void keepFloor(long lowest, long of) {
        floor = lowest;
        floorOf = of;
        fence = of;
    }

    String acquire(Waiter caller, long candidate, boolean waits) {
        if (candidate <= fence) {
            return "stale " + fence;
        }
        if (caller.owner.equals(writer)) {
            fence = candidate + caller.reserve - 1;
            leave(caller.owner);
            return "yes";
        }
        if (writer == null) {
            serve(caller.owner);
        }
        if (writer == null && readers.isEmpty() && isFirst(caller.owner)) {
            writer = caller.owner;
            fence = candidate + caller.reserve - 1;
            leave(caller.owner);
            return "yes";
        }
        return join(caller, waits);
    }

    String acquireAsReader(Waiter caller, long candidate, boolean waits) {
        long lowest = readFloor();
        if (candidate <= lowest) {
            return "stale " + lowest;
        }
        if (!readers.containsKey(caller.owner)) {
            if (writer == null) {
                serve(caller.owner);
            }
            boolean mayShare = writer == null
                    && line.stream()
                            .takeWhile(other -> !other.owner.equals(caller.owner))
                            .allMatch(Waiter::reads);
            if (!mayShare) {
                return join(caller, waits);
            }
        }
        share(caller.owner, candidate, candidate + caller.reserve - 1, readFloor());
        leave(caller.owner);
        return "yes";
    }

    private void share(String owner, long token, long last, long lowest) {
        readers.merge(owner, token, Math::max);
        keepFloor(lowest, Math.max(fence, last));
    }

    /** Takes over the tokens of the same readers, and the fence. */
    void adopt(Map<String, Long> tokens, long newFence) {
        readers.putAll(tokens);
        keepFloor(readFloor(), newFence);
    }

    private String join(Waiter caller, boolean waits) {
        if (!waits) {
            return "held";
        }
        int place = -1;
        for (int i = 0; i < line.size(); i++) {
            place = line.get(i).owner.equals(caller.owner) ? i : place;
        }
        if (place >= 0) {
            line.set(place, caller);
        } else {
            line.add(caller);
        }
        return "queued";
    }

    private boolean isFirst(String owner) {
        return line.isEmpty() || line.get(0).owner.equals(owner);
    }

    private void leave(String owner) {
        line.removeIf(waiter -> waiter.owner.equals(owner));
    }

    /** Serves from the head as long as it is compatible, except the caller. */
    private void serve(String caller) {
        while (!line.isEmpty() && writer == null) {
            Waiter head = line.get(0);
            if (head.reads) {
                shareHead(caller);
                boolean stays = !line.isEmpty() && line.get(0).reads;
                if (stays || !readers.isEmpty()) {
                    return;
                }
            } else if (head.owner.equals(caller) || !readers.isEmpty() || (!head.claims && head.hears)) {
                return;
            } else {
                line.remove(0);
                if (head.claims && head.hears) {
                    writer = head.owner;
                    fence = fence + head.reserve;
                    handed.add(head.owner);
                }
            }
        }
    }

    /** All readers before the first writer: they leave, unless they only were woken, or are the caller. */
    private void shareHead(String caller) {
        long lowest = readFloor();
        long last = fence;
        boolean shared = false;
        int i = 0;
        while (i < line.size() && line.get(i).reads) {
            Waiter waiter = line.get(i);
            if (waiter.owner.equals(caller) || (!waiter.claims && waiter.hears)) {
                i++;
                continue;
            }
            line.remove(i);
            if (waiter.claims) {
                long first = last + 1;
                last = first + waiter.reserve - 1;
                if (waiter.hears) {
                    readers.put(waiter.owner, first);
                    handed.add(waiter.owner);
                    shared = true;
                }
            }
        }
        if (shared) {
            keepFloor(lowest, last);
        }
    }

    String release(String owner, long ballot) {
        boolean held = owner.equals(writer);
        writer = held ? null : writer;
        fence = Math.max(fence, ballot);
        leave(owner);
        serve("");
        return held ? "released" : "not-ours";
    }

    String releaseAsReader(String owner, long ballot) {
        boolean held = readers.remove(owner) != null;
        keepFloor(Math.max(readFloor(), ballot), Math.max(fence, ballot));
        leave(owner);
        serve("");
        return held ? "released" : "not-ours";
    }

    String downgrade(Waiter caller, long candidate, String from) {
        if (candidate <= fence) {
            return "stale " + fence;
        }
        boolean own = readers.containsKey(caller.owner);
        if (!own && !from.equals(writer)) {
            return "not-ours";
        }
        long lowest = readFloor();
        writer = null;
        share(caller.owner, candidate, candidate + caller.reserve - 1, lowest);
        leave(caller.owner);
        serve("");
        return "yes";
    }

    /** The end of a reader by itself; nothing is served until the next request. */
    void expire(String reader) {
        readers.remove(reader);
    }

    /** A waiter that counts as dead: the next request that serves or joins drops it. */
    void drop(String waiter) {
        leave(waiter);
    }
}
