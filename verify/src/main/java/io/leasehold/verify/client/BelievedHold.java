package io.leasehold.verify.client;

import io.leasehold.simulator.history.HistoryEvent;
import io.leasehold.simulator.history.HistorySink;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A hold in which its holder believes until it releases it, since it gets no other information. */
final class BelievedHold implements Contender.Held {

    private static final Logger LOG = LoggerFactory.getLogger(BelievedHold.class);

    private final HistorySink sink;
    private final String process;
    private final String lock;
    private final long token;
    private final Runnable giveBack;

    BelievedHold(HistorySink sink, String process, String lock, long token, Runnable giveBack) {
        this.sink = sink;
        this.process = process;
        this.lock = lock;
        this.token = token;
        this.giveBack = giveBack;
        long now = System.nanoTime();
        sink.add(new HistoryEvent.Acquired(now, process, lock, token, now + 1));
    }

    @Override
    public long token() {
        return token;
    }

    @Override
    public boolean stillHolds() {
        long now = System.nanoTime();
        sink.add(new HistoryEvent.Extended(now, process, lock, token, now + 1));
        return true;
    }

    @Override
    public void release() {
        sink.add(new HistoryEvent.Ended(System.nanoTime(), process, lock, token, "released"));
        try {
            giveBack.run();
        } catch (RuntimeException e) {
            // As usual: the ttl will end it.
            LOG.debug("giving {} back failed", lock, e);
        }
    }
}
