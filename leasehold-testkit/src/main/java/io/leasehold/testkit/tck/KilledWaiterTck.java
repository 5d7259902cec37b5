package io.leasehold.testkit.tck;

import io.leasehold.Guarantee;
import io.leasehold.LockName;
import io.leasehold.testkit.process.ChildJvm;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;

/** As {@link LeavingTck}, of a waiter whose process is killed: what it left ends soon by itself. */
public interface KilledWaiterTck extends SharesFront {

    /** At each moment of {@link LeavingTck.Moment}. */
    @Test
    default void whoseProcessIsKilledLeavesNothing(TckBench bench) throws Exception {
        bench.needs(Guarantee.Scope.MACHINE);
        List<ChildJvm> children = new ArrayList<>();
        try {
            List<StoreFront> fronts = new ArrayList<>();
            for (LeavingTck.Moment moment : LeavingTck.Moment.values()) {
                StoreFront front = bench.front();
                fronts.add(front);
                children.add(start(front, nameOf(bench, moment)));
            }
            for (LeavingTck.Moment moment : LeavingTck.Moment.values()) {
                ChildJvm child = children.get(moment.ordinal());
                child.awaitLine(WaiterMain.READY, TckBench.PATIENCE);
                LeavingTck.leaves(
                        bench,
                        fronts.get(moment.ordinal()),
                        moment,
                        nameOf(bench, moment),
                        new LeavingTck.Leaver() {
                            @Override
                            public void begin() {
                                child.send("wait");
                            }

                            @Override
                            public void leave() throws InterruptedException {
                                child.kill();
                            }
                        });
            }
        } finally {
            children.forEach(ChildJvm::close);
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
