package io.leasehold.engine;

import io.leasehold.Durations;
import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.admin.ClientRecord;
import io.leasehold.admin.Leak;
import io.leasehold.admin.LockAdmin;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.admin.PermitsStatus;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StorePermits;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/** Finds leaked locks from the answers of any store. Serves one search; not thread-safe. */
final class LeakSearch {

    /**
     * The delay before suspects are checked again. By then, the record of a new hold has appeared, and a hand-over has
     * arrived.
     */
    private static final long RECHECK_NANOS = 4_000_000_000L;

    private final Attempts attempts;
    private final EngineContext context;
    private final LockStore store;
    private final Duration olderThan;
    private final Map<String, Optional<ClientRecord>> clients = new HashMap<>();

    LeakSearch(Attempts attempts, Duration olderThan) {
        this.attempts = attempts;
        this.context = attempts.context();
        this.store = context.store();
        this.olderThan = olderThan;
    }

    List<Leak> find() {
        List<Leak> found = new ArrayList<>(context.answer(store.operations().leaks()));
        List<Candidate> silent = new ArrayList<>();
        List<Candidate> permits = permits();
        Set<LockName> slots = slotsOf(permits);
        for (HeldLock held : context.answer(store.admin().list("*", LockAdmin.MAX_LEAK_CANDIDATES))) {
            if (!slots.contains(held.name())) {
                holds(held).forEach(hold -> classify(hold, found, silent));
            }
        }
        for (Candidate permit : permits) {
            classify(permit, found, silent);
        }
        if (!silent.isEmpty()) {
            found.addAll(recheck(silent));
        }
        found.sort(Comparator.comparing(Leak::kind).thenComparing(Leak::subject));
        return List.copyOf(found);
    }

    /**
     * A hold that may be a leak.
     *
     * @param name the lock, its readers, or permits
     * @param slot the slot of a permit; empty for a lock
     * @param earlier the number of holds of the name that the holder began before this one
     * @param all the number of all holds of the name that the holder has
     */
    private record Candidate(LockName name, OptionalInt slot, Holder holder, int earlier, int all) {
        /** One of these holds of the name: finds those of its holder, in the order of their tokens. */
        static Candidate of(LockName name, OptionalInt slot, Holder one, List<Holder> all) {
            List<Holder> ofClient =
                    all.stream().filter(holder -> holder.id().equals(one.id())).toList();
            int earlier = (int)
                    ofClient.stream().filter(other -> token(other) < token(one)).count();
            return new Candidate(name, slot, one, earlier, ofClient.size());
        }

        private static long token(Holder holder) {
            return holder.fencingToken().orElse(Long.MAX_VALUE);
        }

        String subject() {
            if (name.isRead()) {
                return name.text() + ", a reader";
            }
            return slot.isPresent() ? name.text() + ", slot " + slot.getAsInt() : name.text();
        }
    }

    /** Returns the holds of a lock: that of its holder, or those of its readers. */
    private List<Candidate> holds(HeldLock held) {
        List<Holder> readers = held.holder().isReaders() ? readers(held.name()) : List.of();
        if (readers.isEmpty()) {
            return List.of(new Candidate(held.name(), OptionalInt.empty(), held.holder(), 0, 1));
        }
        LockName read = held.name().asRead();
        return readers.stream()
                .map(reader -> Candidate.of(read, OptionalInt.empty(), reader, readers))
                .toList();
    }

    private List<Holder> readers(LockName lock) {
        return context.answer(store.admin().readers(lock.asExclusive(), LockAdmin.MAX_LEAK_CANDIDATES));
    }

    /** The locks of the store that are slots of these permits: each hold is reported once, as that of a permit. */
    private Set<LockName> slotsOf(List<Candidate> permits) {
        Set<LockName> slots = new HashSet<>();
        for (Candidate permit : permits) {
            store.permits()
                    .flatMap(all -> all.lockOf(permit.name(), permit.slot().orElseThrow()))
                    .ifPresent(slots::add);
        }
        return slots;
    }

    private List<Candidate> permits() {
        List<Candidate> held = new ArrayList<>();
        StorePermits permits = store.permits().orElse(null);
        if (permits != null) {
            for (PermitsStatus status : context.answer(permits.list("*", LockAdmin.MAX_LEAK_CANDIDATES))) {
                List<Holder> holders = status.held().stream()
                        .map(PermitsStatus.HeldPermit::holder)
                        .toList();
                for (PermitsStatus.HeldPermit one : status.held()) {
                    held.add(Candidate.of(status.name(), OptionalInt.of(one.slot()), one.holder(), holders));
                }
            }
        }
        return held;
    }

    private void classify(Candidate held, List<Leak> found, List<Candidate> silent) {
        Holder holder = held.holder();
        if (holder.ends() == Holder.Ends.NEVER) {
            found.add(new Leak(
                    Leak.Kind.NO_TTL,
                    held.subject(),
                    "held by " + holder.id() + " without an end: nothing frees it but its holder or an operator"));
            return;
        }
        // A ticket has no client: its exporter may have ended in order.
        if (!store.operations().keepsClientRecords() || holder.isTicket() || !isOurs(holder.id())) {
            return;
        }
        Optional<ClientRecord> client = client(holder.id());
        if (client.isEmpty()) {
            silent.add(held);
        } else {
            holdOf(client.get(), held).ifPresent(hold -> checkAge(held, hold, found));
        }
    }

    /**
     * The hold in the client's record: its permits of a name are in the order of their tokens. A record that lists more
     * holds than the client has now is older than some release. It does not tell of which, so each permit has the
     * youngest hold that it may have. So it is with the holds of a reader.
     */
    private static Optional<ClientRecord.ClientHold> holdOf(ClientRecord client, Candidate held) {
        String listed = ClientRecord.listed(held.name());
        List<ClientRecord.ClientHold> holds = client.holds().stream()
                .filter(hold -> hold.lock().equals(listed))
                .sorted(Comparator.comparing(ClientRecord.ClientHold::since))
                .toList();
        int index = held.earlier() + Math.max(0, holds.size() - held.all());
        return index < holds.size() ? Optional.of(holds.get(index)) : Optional.empty();
    }

    /** Whether the id has the form host, pid, client; other holders keep no record. */
    private static boolean isOurs(String holderId) {
        return holderId.split("/", -1).length >= 3;
    }

    private Optional<ClientRecord> client(String holderId) {
        return clients.computeIfAbsent(
                holderId, id -> context.answer(store.operations().client(id)));
    }

    private void checkAge(Candidate held, ClientRecord.ClientHold hold, List<Leak> found) {
        Duration age = Duration.between(
                hold.since(), Instant.ofEpochMilli(context.runtime().wallMillis()));
        if (age.compareTo(olderThan) > 0) {
            String thread = hold.thread().isEmpty() ? "" : ", thread \"" + hold.thread() + "\"";
            found.add(new Leak(
                    Leak.Kind.HELD_TOO_LONG,
                    held.subject(),
                    "held by " + held.holder().id() + thread + " for "
                            + Durations.text(Duration.ofSeconds(age.toSeconds())) + " (" + hold.renewals()
                            + " renewals), longer than " + Durations.text(olderThan)));
        }
    }

    private List<Leak> recheck(List<Candidate> silent) {
        CompletableFuture<Void> later = new CompletableFuture<>();
        context.runtime().schedule(RECHECK_NANOS, () -> later.complete(null));
        // Once the client is closed, no timer runs.
        context.answer(CompletableFuture.anyOf(later, attempts.closed()));
        attempts.requireOpen();
        List<Leak> found = new ArrayList<>();
        clients.clear();
        for (Candidate before : silent) {
            Optional<Holder> now = holderNow(before);
            if (now.isPresent()
                    && isSameHold(before.holder(), now.get())
                    && client(before.holder().id()).isEmpty()) {
                found.add(new Leak(
                        Leak.Kind.HOLDER_GONE,
                        before.subject(),
                        "held by " + before.holder().id() + ", whose client shows no sign of life"));
            }
        }
        return found;
    }

    private Optional<Holder> holderNow(Candidate before) {
        if (before.name().isRead()) {
            return readers(before.name()).stream()
                    .filter(now -> isSameHold(before.holder(), now))
                    .findFirst();
        }
        if (before.slot().isEmpty()) {
            return context.answer(store.admin().describe(before.name())).map(HeldLock::holder);
        }
        return store.permits().stream()
                .map(permits -> context.answer(permits.describe(before.name())))
                .flatMap(Optional::stream)
                .flatMap(status -> status.held().stream())
                .filter(held -> held.slot() == before.slot().getAsInt())
                .map(PermitsStatus.HeldPermit::holder)
                .findFirst();
    }

    private static boolean isSameHold(Holder before, Holder now) {
        return before.id().equals(now.id()) && before.fencingToken().equals(now.fencingToken());
    }
}
