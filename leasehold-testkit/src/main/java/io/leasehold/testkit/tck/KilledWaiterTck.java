package io.leasehold.testkit.tck;

import io.leasehold.Guarantee;
import io.leasehold.LockName;
import io.leasehold.testkit.process.ChildJvm;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** As {@link LeavingTck}, for a waiter whose process is killed: its leftovers expire soon. */
public interface KilledWaiterTck extends SharesFront {

    /** At each moment of {@link LeavingTck.Moment}. */
    @Test
    default void whoseProcessIsKilledLeavesNothing(TckBench bench) throws Exception {
        bench.needs(Guarantee.Scope.MACHINE);
        Map<LeavingTck.Moment, ChildJvm> children = new EnumMap<>(LeavingTck.Moment.class);
        Map<LeavingTck.Moment, StoreFront> fronts = new EnumMap<>(LeavingTck.Moment.class);
        try {
            for (LeavingTck.Moment moment : LeavingTck.Moment.values()) {
                StoreFront front = bench.front();
                fronts.put(moment, front);
                children.put(moment, start(front, nameOf(bench, moment)));
            }
            for (Map.Entry<LeavingTck.Moment, ChildJvm> one : children.entrySet()) {
                ChildJvm child = one.getValue();
                child.awaitLine(WaiterMain.READY, TckBench.PATIENCE.multipliedBy(2));
                LeavingTck.Leaver killed = new LeavingTck.Leaver() {
                    @Override
                    public void begin() {
                        child.send("wait");
                    }

                    @Override
                    public void leave() throws InterruptedException {
                        child.kill();
                    }

                    @Override
                    public boolean canTell() {
                        return false;
                    }
                };
                StoreFront front = Objects.requireNonNull(fronts.get(one.getKey()));
                LeavingTck.leaves(bench, front, one.getKey(), nameOf(bench, one.getKey()), killed);
            }
        } finally {
            children.values().forEach(ChildJvm::close);
        }
    }

    private static LockName nameOf(TckBench bench, LeavingTck.Moment moment) {
        return bench.name("killed-" + moment.name().toLowerCase(Locale.ROOT));
    }

    private static ChildJvm start(StoreFront front, LockName name) {
        String uri = front.uriForOtherProcesses();
        if (uri == null) {
            throw new AssertionError("the store excludes other processes, but its front has no URI for them");
        }
        return ChildJvm.of(WaiterMain.class)
                .jvmArgument("-Xmx64m")
                .environment(HolderMain.URI_VARIABLE, uri)
                .arguments(name.text())
                .start();
    }
}
