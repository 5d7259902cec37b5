package io.leasehold.spi.toolkit;

import io.leasehold.LockName;
import io.leasehold.spi.DoubtedHold;
import io.leasehold.spi.PassingSignals;
import io.leasehold.spi.StoreSignals;
import java.util.ArrayList;
import java.util.List;

/** Passes signals on; one of the lock of a slot also concerns the permits. Owner tokens need no translation. */
final class SlotSignals extends PassingSignals {

    private final StoreSignals signals;

    SlotSignals(StoreSignals signals) {
        super(signals);
        this.signals = signals;
    }

    @Override
    public void wake(LockName name) {
        signals.wake(name);
        SlotLock.read(name).ifPresent(slot -> signals.wake(slot.permits()));
    }

    @Override
    public void takenAway(LockName name) {
        signals.takenAway(name);
        SlotLock.read(name).ifPresent(slot -> signals.takenAway(slot.permits()));
    }

    @Override
    public void doubted(List<DoubtedHold> holds) {
        List<DoubtedHold> all = new ArrayList<>(holds);
        for (DoubtedHold hold : holds) {
            SlotLock.read(hold.name()).ifPresent(slot -> all.add(new DoubtedHold(hold.owner(), slot.permits())));
        }
        signals.doubted(all);
    }
}
