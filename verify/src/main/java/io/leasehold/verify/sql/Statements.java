package io.leasehold.verify.sql;

import io.leasehold.jdbc.StoresOverModel;
import io.leasehold.jdbc.dialect.Dialect;
import java.util.HashMap;
import java.util.Map;

/** The operations behind the statements of a dialect: the model knows statements by identity, and reads no SQL. */
final class Statements {

    /** A statement, or an end of a transaction. */
    enum Op {
        FIND,
        FIND_UNLESS_LOCKED,
        READ,
        INSERT,
        UPDATE,
        NOTE,
        EXTEND,
        HELD,
        IDLE,
        DELETE,
        ACQUIRE,
        CREATE,
        DESCRIBE,
        STORE,
        FLOOR,
        LOCK_FLOOR,
        RAISE_FLOOR,
        DISTINCT,
        MICROS,
        LIMITS,
        TELL,
        LISTEN,
        UNLISTEN,
        ASK,
        NO_RIGHT,
        COMMIT,
        ROLLBACK
    }

    private final Map<String, Op> known = new HashMap<>();

    Statements(Flavour flavour) {
        Dialect dialect = StoresOverModel.statements(flavour.dialect);
        Dialect.Leases leases = dialect.leases();
        known.put(leases.find(), Op.FIND);
        known.put(leases.findUnlessLocked(), Op.FIND_UNLESS_LOCKED);
        known.put(leases.read(), Op.READ);
        known.put(leases.insert(), Op.INSERT);
        known.put(leases.update(), Op.UPDATE);
        known.put(leases.note(), Op.NOTE);
        known.put(leases.extend(), Op.EXTEND);
        known.put(leases.held(), Op.HELD);
        known.put(leases.idle(), Op.IDLE);
        known.put(leases.delete(), Op.DELETE);
        String acquire = leases.acquire();
        if (acquire != null) {
            known.put(acquire, Op.ACQUIRE);
        }
        Dialect.Store store = dialect.store();
        store.create().forEach(text -> known.put(text, Op.CREATE));
        known.put(store.describe(), Op.DESCRIBE);
        known.put(store.read(), Op.STORE);
        known.put(store.floor(), Op.FLOOR);
        known.put(store.lockFloor(), Op.LOCK_FLOOR);
        known.put(store.raiseFloor(), Op.RAISE_FLOOR);
        known.put(store.distinct(), Op.DISTINCT);
        // No lock depends on client records: the model has no such table, nor the right to create it.
        known.put(dialect.clients().find(), Op.NO_RIGHT);
        known.put(dialect.clients().create(), Op.NO_RIGHT);
        known.put(((Dialect.DatabaseTime) dialect.clock()).micros(), Op.MICROS);
        String limits = ((Dialect.ByDriver) dialect.transaction()).limits();
        if (limits != null) {
            known.put(limits, Op.LIMITS);
        }
        if (dialect.waking() instanceof Dialect.ByNotifications waking) {
            known.put(waking.tell(), Op.TELL);
            known.put("LISTEN leasehold", Op.LISTEN);
            known.put("UNLISTEN leasehold", Op.UNLISTEN);
            known.put("SELECT 1", Op.ASK);
        }
    }

    /** The operation of this statement. */
    Op of(String sql) {
        Op op = known.get(sql);
        if (op == null) {
            throw new IllegalStateException("the model does not know this statement; follow the dialect: " + sql);
        }
        return op;
    }
}
