package io.leasehold.verify.client;

import java.io.IOException;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One thread of a client: acquires locks without end; under each it reads and overwrites counters of the resource. */
final class Worker {

    private static final Logger LOG = LoggerFactory.getLogger(Worker.class);
    private static final Duration PATIENCE = Duration.ofSeconds(2);
    private static final int LITTLE_PATIENCE_MILLIS = 100;
    private static final int RARELY = 40;
    private static final int OFTEN = 5;
    private static final int MAX_IN_BURST = 10;
    private static final String CHECKING = "checking/";

    private final Contender contender;
    private final ResourceLink resource;
    private final SplittableRandom random;
    private final Names names;
    private final Duration ttl;
    private final int updates;
    private final BooleanSupplier stopping;

    /**
     * Creates the work of a thread.
     *
     * @param updates the number of updates under each contended lock
     * @param stopping whether it must end
     */
    Worker(
            Contender contender,
            ResourceLink resource,
            SplittableRandom random,
            Names names,
            Duration ttl,
            int updates,
            BooleanSupplier stopping) {
        this.contender = contender;
        this.resource = resource;
        this.random = random;
        this.names = names;
        this.ttl = ttl;
        this.updates = updates;
        this.stopping = stopping;
    }

    void run() throws IOException, InterruptedException {
        while (!stopping.getAsBoolean()) {
            String lock = names.next();
            takeTurn(lock);
            // Names that are used once come in bursts, which start housekeeping.
            for (int more = Names.isOnce(lock) ? random.nextInt(MAX_IN_BURST) : 0; more > 0; more--) {
                takeTurn(names.once());
            }
        }
    }

    private void takeTurn(String lock) throws IOException, InterruptedException {
        Contender.@Nullable Held held;
        try {
            held = acquire(lock);
        } catch (RuntimeException e) {
            // The store cannot serve at the moment; the run tests that.
            LOG.debug("acquiring {} failed", lock, e);
            TimeUnit.MILLISECONDS.sleep(20);
            return;
        }
        while (held != null) {
            Contender.Held next = null;
            try {
                use(held, held.resource(lock));
            } finally {
                next = held.leave();
            }
            held = next;
        }
    }

    /** With many names: sometimes with little patience, sometimes two locks at once. */
    private Contender.@Nullable Held acquire(String lock) throws InterruptedException {
        Duration patience = names.areMany() && random.nextInt(4) == 0
                ? Duration.ofMillis(random.nextInt(LITTLE_PATIENCE_MILLIS))
                : PATIENCE;
        String other = Names.isCool(lock) && random.nextInt(4) == 0 ? names.anyCool() : lock;
        return other.equals(lock) ? contender.acquire(lock, patience) : contender.acquireBoth(lock, other, patience);
    }

    /**
     * Reads, checks the lease, works, writes, like code that does not expect a pause. Only the token protects against a
     * pause between the check and the write.
     */
    private void use(Contender.Held held, String lock) throws IOException, InterruptedException {
        if (held.onlyReads()) {
            look(held, lock);
            return;
        }
        int most = Names.isHot(lock) ? updates : 1;
        for (int update = 0; update < most && !stopping.getAsBoolean(); update++) {
            OptionalLong checking = resource.read(CHECKING + lock, held.token());
            OptionalLong naive = resource.read("naive/" + lock, held.token());
            if (checking.isEmpty() || (update % 16 == 0 && !held.stillHolds())) {
                return;
            }
            if (update == 0) {
                think(lock);
            }
            resource.write(CHECKING + lock, held.token(), checking.getAsLong() + 1);
            if (naive.isPresent()) {
                resource.write("naive/" + lock, held.token(), naive.getAsLong() + 1);
            }
        }
        held.stillHolds();
    }

    /** Reads the value twice, with some time in between: a checker compares the two. */
    private void look(Contender.Held held, String lock) throws IOException, InterruptedException {
        if (resource.look(CHECKING + lock, held.token()).isPresent()) {
            think(lock);
            if (held.stillHolds()) {
                resource.look(CHECKING + lock, held.token());
            }
        }
        held.stillHolds();
    }

    /**
     * Mostly short, so that much happens; sometimes longer than a ttl, so that renewal is needed. A name that is often
     * idle is held more often for longer than its retention.
     */
    private void think(String lock) throws InterruptedException {
        if (Names.isOnce(lock)) {
            return;
        }
        int oneIn = Names.isCool(lock) ? OFTEN : RARELY;
        long most = random.nextInt(oneIn) == 0 ? ttl.toMillis() * 2 : 10;
        TimeUnit.MILLISECONDS.sleep(random.nextLong(most + 1));
    }
}
