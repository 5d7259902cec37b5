package io.leasehold.engine;

import io.leasehold.spi.OwnerToken;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.Validate;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The table of holds is linearizable: Lincheck explores the interleavings of its operations against a plain map. */
@Param(name = "owner", gen = IntGen.class, conf = "0:1")
@Param(name = "grant", gen = IntGen.class, conf = "0:2")
@Tag("full")
public final class HoldTableLincheckTest {

    private final OwnerToken[] owners = {OwnerToken.fromHex("a".repeat(40)), OwnerToken.fromHex("b".repeat(40))};
    private final HeldGrant[] grants = new HeldGrant[3];
    private final HoldTable table = new HoldTable();

    public HoldTableLincheckTest() {
        Workshop workshop = new Workshop(new StillRuntime(), new SilentStore());
        for (int i = 0; i < grants.length; i++) {
            grants[i] = workshop.keeper();
        }
    }

    @Operation
    public void add(@Param(name = "owner") int owner, @Param(name = "grant") int grant) {
        table.add(owners[owner], grants[grant]);
    }

    @Operation
    public void remove(@Param(name = "owner") int owner, @Param(name = "grant") int grant) {
        table.remove(owners[owner], grants[grant]);
    }

    @Operation
    public String find(@Param(name = "owner") int owner) {
        StringBuilder found = new StringBuilder();
        for (HoldTable.Held grant : table.find(owners[owner])) {
            for (int i = 0; i < grants.length; i++) {
                if (grants[i] == grant) {
                    found.append(i);
                }
            }
        }
        return found.toString();
    }

    /** Iteration and look-up agree once no thread changes the table. */
    @Validate
    public void allAndIsEmptyAgreeInTheEnd() {
        int found = table.find(owners[0]).size() + table.find(owners[1]).size();
        if (table.all().size() != found || table.isEmpty() != (found == 0)) {
            throw new IllegalStateException(table.all().size() + " of " + found + " holds are listed");
        }
    }

    /** Performs the same operations on a plain map. */
    public static final class Plain {
        private final Map<Integer, List<Integer>> held = new HashMap<>();

        public void add(int owner, int grant) {
            held.computeIfAbsent(owner, o -> new ArrayList<>()).add(grant);
        }

        public void remove(int owner, int grant) {
            held.getOrDefault(owner, new ArrayList<>()).removeIf(g -> g == grant);
        }

        public String find(int owner) {
            StringBuilder found = new StringBuilder();
            held.getOrDefault(owner, List.of()).forEach(found::append);
            return found.toString();
        }
    }

    @Test
    void isLinearizable() {
        Lincheck.stress(HoldTableLincheckTest.class, Plain.class);
    }
}
