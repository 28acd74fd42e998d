//! Tests of fits, bars, bands and drift.

use super::*;

/// Groups of four, of whose points the truth follows with a slip in every `slip`.
fn cases(n: usize, slip: usize) -> Vec<LabelledWork> {
    let case = |index: usize| {
        let points = 20 + (index * 37 % 81) as u8;
        LabelledWork {
            row: Digest::of(index.to_string().as_bytes()),
            group: index / 4,
            points: Points::whole(points),
            good: (points >= 60) != index.is_multiple_of(slip),
            held_out: 0.0,
        }
    };
    (0..n).map(case).collect()
}

#[test]
fn a_fit_says_how_probable_good_work_is_and_what_others_say_of_each_group() {
    let mut cases = cases(200, 10);
    let fit = Fit::of(&mut cases).unwrap();
    // Where a fit is best, it foretells as many good ones as there are.
    let foretold: f64 = cases.iter().map(|case| fit.good(case.points)).sum();
    let good = cases.iter().filter(|case| case.good).count() as f64;
    assert!((foretold - good).abs() < 0.01, "{foretold} {good}");
    assert!(fit.good(Points::whole(20)) < 0.15 && fit.good(Points::FULL) > 0.85);
    assert!(cases.iter().all(|case| (case.held_out - fit.good(case.points)).abs() < 0.05));
    let figures = fit.figures(&cases);
    assert_eq!((figures.labels, figures.groups), (200, 50));
    assert!(figures.accuracy > 0.85 && figures.accuracy_of_sure >= figures.accuracy, "{figures:?}");
    // Among equal scores nobody is surer: what is left out of a fit says nothing of it.
    let mut equal = cases.clone();
    equal.iter_mut().for_each(|case| {
        case.points = Points::whole(if case.points >= Points::whole(60) { 100 } else { 20 })
    });
    let two = Fit::of(&mut equal).unwrap().figures(&equal);
    assert!((two.accuracy_of_sure - two.accuracy).abs() < 0.05, "{two:?}");
    // Without any slip it stays finite.
    let fit = Fit::of(&mut super::tests::cases(60, 1000)).unwrap();
    assert!(fit.a.is_finite() && fit.b > 0.0);
}

#[test]
fn few_labels_or_few_of_a_kind_carry_no_fit() {
    assert_eq!(Fit::of(&mut cases(49, 10)), Err(Unfit::Few(49)));
    assert!(Fit::of(&mut cases(50, 10)).is_ok());
    let mut kind = cases(60, 10);
    kind.iter_mut().enumerate().for_each(|(index, case)| case.good = index >= 9);
    assert_eq!(Fit::of(&mut kind), Err(Unfit::OneKind { good: 51, bad: 9 }));
    kind[20].good = false;
    assert!(Fit::of(&mut kind).is_ok());
}

#[test]
fn a_stricter_cap_gives_a_higher_bar_and_one_that_nothing_keeps_none() {
    let mut cases = cases(400, 10);
    let fit = Fit::of(&mut cases).unwrap();
    let bar = |cap| fit.bar(&cases, cap);
    let [kind, strict] = [0.3, 0.1].map(|cap| bar(cap).unwrap());
    assert!(kind < strict, "{kind} {strict}");
    let bad = || cases.iter().filter(|case| !case.good);
    let passed = bad().filter(|case| case.points >= kind).count();
    assert!((passed as f64) < 0.3 * bad().count() as f64);
    assert_eq!(bar(0.0), None);
    assert_eq!(bar(1.1), Some(Points::whole(20)));
}

#[test]
fn the_band_touches_the_bar_and_lies_where_verdicts_are_least_sure() {
    let mut cases = cases(400, 10);
    let fit = Fit::of(&mut cases).unwrap();
    let held = |[low, high]: [Points; 2]| {
        let within = cases.iter().filter(|case| (low..=high).contains(&case.points));
        within.count() as f64 / cases.len() as f64
    };
    let strict = Points::whole(75);
    let band = fit.band(&cases, strict, 0.2).unwrap();
    assert!((0.17..=0.2).contains(&held(band)), "{band:?}");
    // Below it lies good work that would fail.
    assert!(band[0] < Points::whole(65) && band[1] >= Points::whole(74), "{band:?}");
    let even = fit.band(&cases, Points::whole(60), 0.2).unwrap();
    assert!(even[0] < Points::whole(60) && even[1] > Points::whole(60), "{even:?}");
    assert_eq!(fit.band(&cases, strict, 0.0), None);
}

#[test]
fn groups_that_hold_together_say_less() {
    let mut apart = cases(400, 10);
    let fit = Fit::of(&mut apart).unwrap();
    let mut together = apart.clone();
    for (index, case) in together.iter_mut().enumerate() {
        case.group = if index.is_multiple_of(10) { index / 100 } else { case.group + 4 };
    }
    let most = |cases: &[LabelledWork]| fit.most_false_passes(cases, Points::whole(75));
    assert!(most(&together) > most(&apart) + 0.01);
    // One group says nothing at all.
    together.iter_mut().for_each(|case| case.group = 1);
    assert!(most(&together) > 0.99);
}

#[test]
fn few_say_little_and_what_a_fit_foretells_counts_where_none_was_seen() {
    assert!(upper_end(0.0, 3.0) > 0.3 && upper_end(0.0, 30.0) < 0.06);
    assert!((upper_end(0.2, 1e9) - 0.2).abs() < 1e-3 && upper_end(0.5, 0.0) > 0.99);
    // By luck no bad work among many has the top scores, though much of it lies close below.
    let mut lucky = cases(400, 3);
    let top = Points::whole(90);
    lucky.iter_mut().filter(|case| case.points >= top).for_each(|case| case.good = true);
    let fit = Fit::of(&mut lucky).unwrap();
    let foretold = |case: &LabelledWork| 1.0 - fit.good(case.points);
    let above: f64 = lucky.iter().filter(|case| case.points >= top).map(foretold).sum();
    let share = above / lucky.iter().map(foretold).sum::<f64>();
    let bad = lucky.iter().filter(|case| !case.good).count() as f64;
    let most = fit.most_false_passes(&lucky, top);
    assert!(most > share && share > upper_end(0.0, bad), "{most} {share}");
    // Bad work that fools all judges was counted, whatever a fit makes of it.
    let mut fooled = cases(400, 1000);
    fooled.iter_mut().filter(|case| case.points == Points::FULL).for_each(|case| case.good = false);
    let bad = || fooled.iter().filter(|case| !case.good);
    let share = bad().filter(|case| case.points == Points::FULL).count() as f64 / bad().count() as f64;
    let fit = Fit::of(&mut fooled.clone()).unwrap();
    assert!(fit.most_false_passes(&fooled, Points::FULL) > share);
}

/// Work in groups of four that resemble each other, and a judge who is wrong alike within a group.
fn drawn(random: &mut Random, groups: usize) -> Vec<LabelledWork> {
    let mut normal = || (0..12).map(|_| random.below(1_000) as f64 / 1_000.0).sum::<f64>() - 6.0;
    let mut cases = Vec::new();
    for group in 0..groups {
        let (of_group, slip) = (0.7 * normal(), 0.7 * normal());
        for _ in 0..4 {
            let quality = of_group + 0.7 * normal();
            let points = 60.0 + 15.0 * (quality + slip + 0.6 * normal());
            cases.push(LabelledWork {
                row: Digest::of(b"drawn"),
                group,
                points: Points::whole(points.clamp(20.0, 100.0) as u8),
                good: quality > -1.0,
                held_out: 0.0,
            });
        }
    }
    cases
}

#[test]
fn the_cap_is_kept_by_work_that_nobody_labelled() {
    let mut random = Random(1);
    let later = drawn(&mut random, 2_000);
    let (mut bars, mut broken) = (0, 0);
    for _ in 0..100 {
        let mut cases = drawn(&mut random, 30);
        let Ok(fit) = Fit::of(&mut cases) else { continue };
        let Some(bar) = fit.bar(&cases, 0.2) else { continue };
        let bad = || later.iter().filter(|case| !case.good);
        let passed = bad().filter(|case| case.points >= bar).count();
        bars += 1;
        broken += u32::from(passed * 5 > bad().count());
    }
    assert!(bars >= 90 && broken * 10 <= bars, "{broken} of {bars}");
}

#[test]
fn drift_is_scores_that_moved_or_that_say_less() {
    let mut then = cases(120, 10);
    let fit = Fit::of(&mut then).unwrap();
    let drift = |change: &dyn Fn(usize, &LabelledWork) -> u8| {
        let mut now = then.clone();
        for (index, case) in now.iter_mut().enumerate() {
            case.points = Points::whole(change(index, case));
        }
        Drift::of(&fit, &then, &now, 1).unwrap()
    };
    let points = |case: &LabelledWork| case.points.to_f64() as u8;
    let same = drift(&|_, case| points(case));
    assert_eq!((same.rows, same.shift, same.drifted), (120, Estimate::of(0.0, Some((0.0, 0.0))), false));
    let noise = drift(&|index, case| {
        (points(case) + if index % 2 == 0 { 1 } else { 0 }).max(1) - u8::from(index % 4 > 1)
    });
    assert!(!noise.drifted, "{noise:?}");
    let kinder = drift(&|_, case| points(case).saturating_add(5).min(100));
    assert!(kinder.drifted && kinder.shift.value > 0.0, "{kinder:?}");
    // The same scores on average, of other work.
    let turned = drift(&|_, case| 120 - points(case));
    assert!(turned.drifted && turned.loss.value > 0.0, "{turned:?}");
    assert_eq!(Drift::of(&fit, &then, &[], 1), None);
}

#[test]
fn pictures_begin_at_nothing_and_end_at_everything() {
    let mut cases = cases(100, 10);
    Fit::of(&mut cases).unwrap();
    let curve = roc(&cases);
    assert_eq!((curve.first(), curve.last()), (Some(&(0.0, 0.0)), Some(&(1.0, 1.0))));
    assert_eq!(reliability(&cases).iter().map(|class| class.2).sum::<usize>(), 100);
}
