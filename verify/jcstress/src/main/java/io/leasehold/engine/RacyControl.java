package io.leasehold.engine;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** A copy of the end of a lease without its guard: the runs must detect it, or they would detect nothing. */
@JCStressTest
@State
@Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "released first")
@Outcome(id = "2, 1", expect = Expect.ACCEPTABLE, desc = "lost first")
@Outcome(expect = Expect.FORBIDDEN, desc = "released and lost: two ends")
public class RacyControl {

    private int end;
    private int told;

    @Actor
    public void release() {
        if (end == 0) {
            end = 1;
        }
    }

    @Actor
    public void lose() {
        if (end == 0) {
            end = 2;
            told++;
        }
    }

    @Arbiter
    public void look(II_Result r) {
        r.r1 = end;
        r.r2 = told;
    }
}
