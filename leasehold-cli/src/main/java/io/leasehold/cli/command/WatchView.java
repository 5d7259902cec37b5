package io.leasehold.cli.command;

import io.leasehold.Holder;
import io.leasehold.LockClient;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.output.Json;
import io.leasehold.cli.output.Terminal;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The output of {@code watch}. For one thread. */
interface WatchView extends AutoCloseable {

    /** A table in place on a terminal, else a line for each change. */
    static WatchView of(boolean json, Invocation invocation) {
        boolean live = !json && !Terminal.isDumb(invocation.environment()) && Terminal.leadsToTerminal(1);
        return live ? LiveTable.on(invocation.terminal()) : new Changes(invocation.terminal(), json);
    }

    /** The store answered. */
    void show(LockClient locks, Listing listing);

    /** The store did not answer. */
    void storeIsDown(String why);

    /** Shows a line that is not about a lock, from the next poll on. */
    void remark(String line);

    /** Waits until the next poll is due; returns whether the user has quit. */
    boolean awaitQuit(Duration most) throws InterruptedException;

    /** Leaves the last table readable after the end. */
    void leaveLast();

    @Override
    void close();

    /** The time of a poll. */
    static String now() {
        return Instant.now().truncatedTo(ChronoUnit.SECONDS).toString();
    }

    /** Writes a line for each lock that changed hands since the last poll. */
    final class Changes implements WatchView {

        private final Terminal terminal;
        private final boolean json;
        private final Map<String, Holder> before = new TreeMap<>();
        private boolean down;
        private boolean cut;

        Changes(Terminal terminal, boolean json) {
            this.terminal = terminal;
            this.json = json;
        }

        @Override
        public void show(LockClient locks, Listing listing) {
            if (down) {
                down = false;
                event("store-up", null, null, "the store answers again: " + locks.storeDescription());
            }
            if (listing.isCut() && !cut) {
                remark(listing.remark());
            }
            cut = listing.isCut();
            Map<String, Holder> now = new TreeMap<>();
            listing.held().forEach(lock -> now.put(lock.name().text(), lock.holder()));
            before.forEach((name, holder) -> {
                if (now.containsKey(name)) {
                    return;
                }
                if (!listing.covers(name)) {
                    // It is unknown whether such a lock is still held; the memory for them is bounded.
                    if (now.size() < 2 * listing.held().size()) {
                        now.put(name, holder);
                    }
                } else {
                    event("freed", name, holder, "- " + name + "  was " + HolderView.sentence(holder));
                }
            });
            now.forEach((name, holder) -> {
                Holder known = before.get(name);
                boolean same = known != null
                        && known.id().equals(holder.id())
                        && known.fencingToken().equals(holder.fencingToken());
                if (!same) {
                    event("held", name, holder, "+ " + name + "  " + HolderView.sentence(holder));
                }
            });
            before.clear();
            before.putAll(now);
        }

        @Override
        public void storeIsDown(String why) {
            if (!down) {
                down = true;
                event("store-down", null, null, "store down: " + why + "; retrying");
            }
        }

        @Override
        public void remark(String line) {
            terminal.complain(line);
        }

        @Override
        public boolean awaitQuit(Duration most) throws InterruptedException {
            Thread.sleep(most.toMillis());
            return false;
        }

        @Override
        public void leaveLast() {
            // All was written.
        }

        @Override
        public void close() {
            // It has nothing to restore.
        }

        private void event(String kind, @Nullable String lock, @Nullable Holder holder, String sentence) {
            if (!json) {
                terminal.print(now() + "  " + sentence);
                return;
            }
            Map<String, @Nullable Object> line = new LinkedHashMap<>();
            line.put("time", now());
            line.put("event", new Json.Word(kind));
            line.put("lock", lock);
            line.put("holder", holder == null ? null : HolderView.json(holder));
            line.put("detail", lock == null ? sentence : null);
            terminal.printJson(line);
        }
    }
}
