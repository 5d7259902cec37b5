package io.leasehold.cli.command;

import io.leasehold.Holder;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.output.Json;
import io.leasehold.cli.output.Table;
import io.leasehold.cli.output.Terminal;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The output of {@code watch}. For one thread. */
interface WatchView {

    /** A table in place on a terminal, else a line for each change. */
    static WatchView of(boolean json, Invocation invocation) {
        boolean live = !json
                && !invocation.environment().getOrDefault("TERM", "dumb").equals("dumb")
                && Terminal.leadsToTerminal(1);
        return live ? new Live(invocation.terminal()) : new Changes(invocation.terminal(), json);
    }

    /** The store answered. */
    void show(String store, Listing listing);

    /** The store did not answer. */
    void storeIsDown(String why);

    private static String now() {
        return Instant.now().truncatedTo(ChronoUnit.SECONDS).toString();
    }

    /** Replaces the whole table at each poll. */
    final class Live implements WatchView {

        private static final String HOME_AND_CLEAR = "\033[H\033[2J";

        private final Terminal terminal;
        private List<HeldLock> last = List.of();
        private String lastStore = "";

        Live(Terminal terminal) {
            this.terminal = terminal;
        }

        @Override
        public void show(String store, Listing listing) {
            last = listing.held();
            lastStore = store;
            draw(store + "  " + now() + "  " + (listing.isCut() ? "more than " : "") + last.size() + " held");
        }

        @Override
        public void storeIsDown(String why) {
            draw(lastStore + "  " + now() + "  STORE DOWN, last seen below: " + why);
        }

        private void draw(String heading) {
            Table table = new Table("LOCK", "HOLDER", "TOKEN", "LEFT");
            last.forEach(lock -> table.row(
                    lock.name().text(),
                    lock.holder().id(),
                    HolderView.token(lock.holder()),
                    HolderView.remaining(lock.holder())));
            terminal.printText(HOME_AND_CLEAR);
            terminal.print(heading);
            terminal.print(table.lines());
        }
    }

    /** Writes a line for each lock that changed hands since the last poll. */
    final class Changes implements WatchView {

        private final Terminal terminal;
        private final boolean json;
        private final Map<String, Holder> before = new TreeMap<>();
        private boolean down;

        Changes(Terminal terminal, boolean json) {
            this.terminal = terminal;
            this.json = json;
        }

        @Override
        public void show(String store, Listing listing) {
            if (down) {
                down = false;
                event("store-up", null, null, "the store answers again: " + store);
            }
            Map<String, Holder> now = new TreeMap<>();
            listing.held().forEach(lock -> now.put(lock.name().text(), lock.holder()));
            before.forEach((name, holder) -> {
                if (now.containsKey(name)) {
                    return;
                }
                if (!listing.covers(name)) {
                    // Whether it is still held is not known. What is kept of such locks is bounded.
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
                event("store-down", null, null, "store down: " + why + "; trying again");
            }
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
