/**
 * The resource's side of a fencing token: whoever guards a resource may need nothing of Leasehold but this package.
 *
 * <p>A lease can end while its holder is stopped and does not know it. What the holder then still sends can be refused only
 * by the resource, and only if every request carries the holder's {@linkplain io.leasehold.Lease#fencingToken() fencing
 * token}. The rule is one line: <em>a token that is smaller than the largest one seen is refused; an equal one is admitted</em>,
 * since one holder may come many times.
 *
 * <p>A token has to be registered at <em>first contact, reads included</em>. If only writes were checked, a stopped holder
 * could have read an old value, a newer holder could have read it as well, and the old one's write would come before the newer
 * one had shown its token: an update is lost although every check was made.
 *
 * <p>What a file, an SQL row or a service of one's own has to do is written already:
 *
 * <pre>{@code
 * FencedFile report = FencedFile.at(Path.of("report.txt"));
 * byte[] before = report.read(lease.fencingToken()).orElse(new byte[0]);
 * report.write(lease.fencingToken(), before);
 * }</pre>
 *
 * <ul>
 *   <li>{@link io.leasehold.fencing.FencedFile}: a file of this machine;
 *   <li>{@link io.leasehold.fencing.FencingGuard}: for whatever can keep a number beside what it guards;
 *   <li>{@link io.leasehold.fencing.FencingHeader}: the token on its way through HTTP;
 *   <li>{@code SqlFencingGuard} in {@code leasehold-jdbc}: a row, in the caller's own transaction.
 * </ul>
 */
@NullMarked
package io.leasehold.fencing;

import org.jspecify.annotations.NullMarked;
