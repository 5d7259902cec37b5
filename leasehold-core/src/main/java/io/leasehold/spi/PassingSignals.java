package io.leasehold.spi;

import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import java.util.List;
import java.util.Objects;

/** Passes every signal on to another listener; a subclass changes or observes some. Thread-safe if the listener is. */
public abstract class PassingSignals implements StoreSignals {

    private final StoreSignals signals;

    /** Creates a listener that passes its signals on to this one. */
    public PassingSignals(StoreSignals signals) {
        this.signals = Objects.requireNonNull(signals, "signals");
    }

    @Override
    public void wake(LockName name) {
        signals.wake(name);
    }

    @Override
    public void handedOver(HandOver handOver) {
        signals.handedOver(handOver);
    }

    @Override
    public boolean claimed(Claim claim) {
        return signals.claimed(claim);
    }

    @Override
    public void lost(OwnerToken owner, LossCause cause) {
        signals.lost(owner, cause);
    }

    @Override
    public void takenAway(LockName name) {
        signals.takenAway(name);
    }

    @Override
    public void doubted(List<DoubtedHold> holds) {
        signals.doubted(holds);
    }

    @Override
    public void suspended(OwnerToken owner) {
        signals.suspended(owner);
    }

    @Override
    public void reconnected() {
        signals.reconnected();
    }

    @Override
    public void nodeChanged(LockListener.NodeChanged event) {
        signals.nodeChanged(event);
    }

    @Override
    public String toString() {
        return signals.toString();
    }
}
