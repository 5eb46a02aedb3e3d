// A whole evening in one run: groceries are put away from a photo, dinner is chosen and four more are
// planned, the list of what is missing is written, and tonight's dinner is cooked.
//
//   args.photo   the photo, as a path below plugins.vision.root

if (typeof SDK.args?.photo !== "string" || !SDK.args.photo) {
  throw new TypeError("args.photo is missing: send the photo's path, relative to plugins.vision.root");
}
const haul = SDK.Actions.haul({ photo: SDK.args.photo });
const dinner = SDK.Actions.tonight({ plan: true });
const plan = SDK.Actions.weekPlan({ days: 5 });
const list = SDK.Actions.shop(plan.planId ? { planId: plan.planId } : {});
const cooked = dinner.planned?.mealId ? SDK.Actions.cooked({ mealId: dinner.planned.mealId }) : null;
SDK.Out.answer({ haul, dinner, plan, list, cooked });
